// What stands there when there is nothing yet, too much, or something is wrong.
import { html, useEffect, useState } from "./html.js";
import { Icon } from "./icons.js";
import { withCode } from "./with_code.js";

/** What would be here, and how. @param {{icon: import("./icons.js").IconName, title: string, children?: any}} props */
export const Empty = ({ icon, title, children }) => html`<div class="empty"><${Icon} name=${icon} /><b>${title}</b><p>${withCode(children)}</p></div>`;

/** Nothing for 300 ms, then grey lines of the final height. */
export function Skeleton() {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return html`<div class="skel" role="status" aria-label="Is being read">${late && [1, 2, 3, 4, 5].map(() => html`<i></i>`)}</div>`;
}

/** What, why, what next. @param {{error: any, again?: () => void}} props */
export const Failure = ({ error, again }) => html`<div class="failure"><div class="note" role="alert"><${Icon} name="failed" /><div><p>${withCode(error.message)}</p><p>${withCode([error.why, error.then].filter(Boolean).join(" "))}</p>${again && html`<div class="go"><button class="b" onClick=${again}>Try again</button></div>`}</div></div></div>`;
