// Passkeys: what the server asks of the browser, and what it answers, as JSON (Web Authentication, "JSON Serialization").

/** @param {string} text */
const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (one) => one.charCodeAt(0));
/** @param {ArrayBuffer} buffer */
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

export const passkeysWork = () => "PublicKeyCredential" in window;

/** @param {() => Promise<any>} ask @param {string} what */
async function asked(ask, what) {
  try {
    return await ask();
  } catch (error) {
    const { name, message } = /** @type {DOMException} */ (error);
    const why = name === "NotAllowedError" ? "It was cancelled, or took too long." : name === "InvalidStateError" ? "This device has one for this page already." : message;
    throw Object.assign(new Error(what), { why, then: "" });
  }
}

/** Signs what the server wants signed. @param {any} options */
export async function sign(options) {
  const { id, rawId, type, response } = await asked(() => navigator.credentials.get({ publicKey: { ...options, challenge: bytes(options.challenge) } }), "No passkey was used.");
  return { id, rawId: text(rawId), type, response: { clientDataJSON: text(response.clientDataJSON), authenticatorData: text(response.authenticatorData), signature: text(response.signature), userHandle: response.userHandle ? text(response.userHandle) : null } };
}

/** Makes a new one. @param {any} options */
export async function make(options) {
  const publicKey = { ...options, challenge: bytes(options.challenge), user: { ...options.user, id: bytes(options.user.id) }, excludeCredentials: (options.excludeCredentials || []).map((one) => ({ ...one, id: bytes(one.id) })) };
  const { id, rawId, type, response } = await asked(() => navigator.credentials.create({ publicKey }), "No passkey was made.");
  return { id, rawId: text(rawId), type, response: { clientDataJSON: text(response.clientDataJSON), attestationObject: text(response.attestationObject) } };
}
