// Passkeys: what the server asks of the browser, and what it answers, as JSON (Web Authentication, "JSON Serialization").

/** Whether there are any here, and they take and give JSON. */
export const passkeysWork = () => Boolean(window.PublicKeyCredential?.parseRequestOptionsFromJSON);

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
export const sign = (options) => asked(() => navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }), "No passkey was used.");

/** Makes a new one. @param {any} options */
export const make = (options) => asked(() => navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) }), "No passkey was made.");
