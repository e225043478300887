// Logging in by the link: the one-time code in its fragment becomes a cookie, and leaves the address.
import { post } from "./api.js";

/** Takes the code out of the address, if it holds one, and spends it. */
export async function loginByFragment() {
  const code = /^#code=(.+)$/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(null, "", "/#/");
  await post("/api/login", { code: decodeURIComponent(code) });
}
