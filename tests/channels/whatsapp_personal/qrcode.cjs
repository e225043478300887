// A fake of qrcode-terminal.
module.exports = {
  error: 1,
  generate (text, options, done) {
    if (this?.error !== 1) throw new Error('bad rs block @ typeNumber:-1/errorCorrectLevel:undefined')
    done(`[${options.small ? 'small' : 'large'} code of ${text}]`)
  }
}
