// Tells outside of the page that something waits, where the person allowed it and does not look.
import { waits } from "./home.js";
import { Signal } from "./signal.js";
import { count } from "./words.js";

const NOTIFY = "angelia.notify";
const can = typeof Notification !== "undefined";

/** Whether it does. */
export const notifies = new Signal(can && Notification.permission === "granted" && localStorage.getItem(NOTIFY) === "on");

/** Asks the browser for leave, or ends it. @param {boolean} on */
export async function setNotifies(on) {
  const may = on && can && (await Notification.requestPermission()) === "granted";
  localStorage.setItem(NOTIFY, may ? "on" : "off");
  notifies.set(may);
  return may === on;
}

let before = 0;
waits.watch((now) => {
  const more = now > before;
  before = now;
  if (!more || !notifies.value || document.visibilityState === "visible") return;
  try {
    new Notification("Angelia", { body: `${count(now, "thing")} ${now === 1 ? "waits" : "wait"} for you.`, tag: "waits", icon: "/static/icon.svg" });
  } catch {
    // Phones show notifications only for installed workers; the badge and the overview say it there.
  }
});
