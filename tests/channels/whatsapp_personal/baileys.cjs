// A fake of Baileys at its outermost seam: what the bridge uses of it, spoken over TCP to a fake WhatsApp in the test.
// The port stands in the file `port` beside the modules.
const { EventEmitter } = require('node:events')
const { readFileSync } = require('node:fs')
const { connect } = require('node:net')
const { join } = require('node:path')
const { createInterface } = require('node:readline')
const { Readable } = require('node:stream')

const port = Number(readFileSync(join(__dirname, '..', '..', '..', 'port'), 'utf8'))
const boom = (statusCode, message) => Object.assign(new Error(message), { output: { statusCode } })
const KINDS = ['image', 'video', 'audio', 'document']

function makeWASocket (config) {
  if (!config.auth?.creds || config.logger.child() === undefined) throw new Error('Baileys needs a login and a logger')
  const ev = new EventEmitter()
  const ws = new EventEmitter()
  const line = connect(port, '127.0.0.1', () => write({ op: 'hello', pid: process.pid, registered: config.auth.creds.registered }))
  const sock = { ev, ws, user: undefined }
  let heard = Date.now()
  let over = false
  const write = (what) => line.write(`${JSON.stringify(what)}\n`)
  const waiting = new Map()
  let number = 0
  // what WhatsApp answers to one question; nothing once the connection has ended
  const asked = (what) => new Promise((resolve) => {
    waiting.set(++number, resolve)
    write({ ...what, number })
  })
  const close = (code, why) => {
    if (over) return
    over = true
    clearInterval(beat)
    ev.emit('connection.update', { connection: 'close', lastDisconnect: { error: boom(code, why), date: new Date() } })
  }
  const beat = setInterval(() => {
    if (Date.now() - heard > config.keepAliveIntervalMs * 2) close(408, 'Connection was lost')
    else write({ op: 'ping' })
  }, config.keepAliveIntervalMs)

  line.on('error', (error) => close(error.code === 'ECONNREFUSED' ? 500 : 428, error.message))
  line.on('close', () => close(428, 'Connection Closed'))
  createInterface({ input: line }).on('line', (text) => {
    heard = Date.now()
    const told = JSON.parse(text)
    if (told.answer) waiting.get(told.answer)?.(told)
    if (told.open) {
      console.log('Closing session:', 'libsignal talks like this')
      sock.user = told.open
      config.auth.creds.registered = true
      ev.emit('creds.update', {})
      ev.emit('connection.update', { connection: 'open' })
    }
    if (told.qr) ev.emit('connection.update', { qr: told.qr })
    if (told.closed) close(told.closed, 'Stream Errored')
    if (told.ack) ws.emit('CB:ack,class:message', { tag: 'ack', attrs: told.ack })
    if (told.upsert) {
      ev.emit('messages.upsert', { messages: told.upsert, type: 'notify' })
      write({ op: 'received', ids: told.upsert.map(({ key }) => key.id) })
    }
    if (told.update) ev.emit('messages.update', told.update)
  })

  sock.query = async (node, wait) => {
    if (over) throw boom(428, 'Connection Closed')
    if (node.attrs.xmlns !== 'w:p' || node.content[0].tag !== 'ping') throw new Error('the bridge asks for nothing else')
    const late = new Promise((resolve) => setTimeout(resolve, wait))
    return Promise.race([asked({ op: 'ping' }), late])
  }
  sock.waUploadToServer = async (path) => {
    const { name } = await asked({ op: 'upload', path })
    return name
  }
  sock.relayMessage = async (jid, message, { messageId, additionalAttributes }) => {
    if (over) throw boom(428, 'Connection Closed')
    write({ op: 'message', jid, messageId, attributes: additionalAttributes, ...message.fake })
    return messageId
  }
  sock.sendPresenceUpdate = async (presence, jid) => {
    if (over) throw boom(428, 'Connection Closed')
    write({ op: 'presence', presence, jid })
  }
  sock.updateMediaMessage = async (message) => message
  return sock
}

async function generateWAMessage (jid, content, { logger, userJid, upload, messageId, quoted }) {
  if (!logger || !userJid) throw new Error('Baileys needs a logger and who we are')
  const kind = KINDS.find((one) => one in content)
  const told = kind ? { ...content, [kind]: await upload(content[kind].url) } : content
  const message = {
    conversation: content.text ?? content.caption ?? '',
    fake: { content: told, quoted: quoted?.key.id ?? '' }
  }
  const key = { remoteJid: jid, fromMe: true, id: messageId }
  return { key, message, messageTimestamp: Math.floor(Date.now() / 1000) }
}

async function downloadMediaMessage (message, type, options, context) {
  if (type !== 'stream' || !context.logger) throw new Error('the bridge streams')
  const { directPath } = Object.values(message.message)[0]
  const answer = await new Promise((resolve, reject) => {
    const line = connect(port, '127.0.0.1', () => line.write(`${JSON.stringify({ op: 'download', directPath })}\n`))
    line.on('error', reject)
    createInterface({ input: line }).once('line', (text) => {
      line.end()
      resolve(JSON.parse(text))
    })
  })
  if (answer.status !== 200) throw boom(answer.status, 'Failed to fetch stream')
  return Readable.from(Buffer.from(answer.data, 'base64'))
}

module.exports = {
  makeWASocket,
  generateWAMessage,
  downloadMediaMessage,
  normalizeMessageContent: (content) => content,
  initAuthCreds: () => ({ registered: false }),
  BufferJSON: { replacer: (key, value) => value, reviver: (key, value) => value },
  proto: {
    WebMessageInfo: {
      fromObject: (message) => message,
      encode: (message) => ({ finish: () => Buffer.from(JSON.stringify(message)) }),
      decode: (bytes) => JSON.parse(bytes)
    }
  }
}
