// The one module that knows Preact and htm; every other one says html`…` and uses the hooks from here.
import { Component, h, render } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export { Component, render };
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/hooks.js";

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(h);

/** Class names, without those that do not hold. @param {...(string | false | null | undefined)} names */
export const names = (...names) => names.filter(Boolean).join(" ");
