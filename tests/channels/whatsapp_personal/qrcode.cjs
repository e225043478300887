// A fake of qrcode-terminal.
module.exports = { generate: (text, options, done) => done(`[${options.small ? 'small' : 'large'} code of ${text}]`) }
