// What shows how long something has lasted is drawn again each second.
import { useEffect, useState } from "./html.js";

/** @param {any} on */
export function useSeconds(on) {
  const [, tick] = useState(0);
  useEffect(() => {
    if (!on) return;
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [on]);
}
