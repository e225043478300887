// A code that a phone can scan from a terminal; `codes` is qrcode-terminal, whose functions need to be called as its own.
export const drawn = (codes, text) => new Promise((resolve) => codes.generate(text, { small: true }, resolve))
