// One connection to WhatsApp as a linked device of a personal number: JSON lines in and out, until the input ends. When
// the connection ends, nothing is sent any more, and it is said so. What comes in is on the disk before it is told, and
// stays there until it is taken.
//
//   node bridge.mjs FOLDER MODULES OPTIONS
//
// FOLDER holds the login, what was not taken yet, and media; MODULES has node_modules; OPTIONS is JSON: `answer` and
// `silence` in seconds. Requests: {"id", "do", ...}; answers: {"id", "ok"} or {"id", "error", "why"}, where `error` is
// "nothing" (certainly not sent), "unsure", "refused", "gone", "login" or "later" (`why` is 429 and seconds). Before
// anything is handed over that people will see, it is said so: {"id", "left": true}. What has not left is not sent.
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, readFile, readdir, stat, unlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { pathToFileURL } from 'node:url'
import { drawn } from './drawn.mjs'
import { login, write } from './kept.mjs'
import { FILES, answeredMessage, told } from './told.mjs'

const [folder, modules, given] = process.argv.slice(2)
const options = JSON.parse(given)
const QUARTER = 15 * 60 * 1000
const DAY = 24 * 3600 * 1000
const MONTH = 30 * DAY
const MOST = 5000
const GRACE = 2000

const say = (line) => new Promise((resolve) => process.stdout.write(`${JSON.stringify(line)}\n`, resolve))
const hash = (text) => createHash('sha256').update(text).digest('hex').slice(0, 32)
const spool = join(folder, 'spool')
const media = join(folder, 'media')

class Failed extends Error {
  constructor (error, why) {
    super(why)
    this.error = error
  }
}

async function load (name) {
  const module = await import(pathToFileURL(createRequire(join(modules, 'x.js')).resolve(name)))
  return { ...module, ...module.default }
}

// -- what is kept on the disk ----------------------------------------------------------------------------------

async function prune () {
  for (const name of await readdir(media)) {
    const path = join(media, name)
    if (Date.now() - (await stat(path)).mtimeMs > MONTH) await unlink(path)
  }
}

let number = 0
async function keep (what) {
  const name = `${Date.now().toString().padStart(15, '0')}-${String(number++).padStart(6, '0')}.json`
  await write(join(spool, name), JSON.stringify(what))
  say({ event: 'in', name, what })
}

async function tellWhatWasKept () {
  for (const name of (await readdir(spool)).filter((one) => one.endsWith('.json')).sort()) {
    say({ event: 'in', name, what: JSON.parse(await readFile(join(spool, name), 'utf8')) })
  }
}

// -- the connection --------------------------------------------------------------------------------------------

const quiet = { level: 'silent', trace () {}, debug () {}, info () {}, warn () {}, error () {}, fatal () {}, child: () => quiet }
const known = new Map()
const deleted = new Set()
let lost
const ended = new Promise((resolve, reject) => { lost = reject })
ended.catch(() => {})
const unlessEnded = (doing) => Promise.race([doing, ended])
const acknowledged = new Map()
let over = false
let baileys, sock
let kept = async () => {}
let last = Promise.resolve()

function remember (message) {
  known.set(message.key.id, message)
  if (known.size > MOST) known.delete(known.keys().next().value)
}

async function heard (message) {
  if (message.message) remember(message) // one that could not be read cannot be quoted
  const open = baileys.normalizeMessageContent
  const what = told(message, open, sock.user)
  if (!what) return
  if (what.file) await keepMedia(message)
  if (what.answered && !(await readFile(mediaOf(what.answers)).catch(() => null))) await keepMedia(answeredMessage(message, open))
  await keep(what)
}

const mediaOf = (id) => join(media, hash(id))

async function keepMedia (message) {
  const { WebMessageInfo } = baileys.proto
  await write(mediaOf(message.key.id), WebMessageInfo.encode(WebMessageInfo.fromObject(message)).finish())
}

async function connect () {
  const { auth, save, saved } = await login(baileys, join(folder, 'auth'))
  kept = saved
  sock = baileys.makeWASocket({
    auth,
    logger: quiet,
    markOnlineOnConnect: false,
    syncFullHistory: false,
    shouldSyncHistoryMessage: () => false,
    keepAliveIntervalMs: options.silence * 500,
    defaultQueryTimeoutMs: options.answer * 1000,
    emitOwnEvents: false,
    getMessage: async (key) => known.get(key.id)?.message
  })
  sock.ev.on('creds.update', save) // a login that cannot be kept ends us, which is told
  sock.ev.on('connection.update', connection)
  sock.ev.on('messages.upsert', ({ messages }) => {
    for (const message of messages) last = last.then(() => heard(message)).catch((error) => fault(error))
  })
  sock.ev.on('messages.update', (updates) => updates.forEach(confirmed))
  sock.ws.on('CB:ack,class:message', ({ attrs }) => acknowledged.get(attrs.id)?.(attrs))
}

async function connection ({ connection, lastDisconnect, qr }) {
  if (qr) say({ event: 'qr', text: await drawn(await load('qrcode-terminal'), qr) })
  if (connection === 'open') say({ event: 'open', me: sock.user?.id ?? '' })
  if (connection !== 'close') return
  const error = lastDisconnect?.error
  over = true
  lost(new Error('the connection ended'))
  await last
  say({ event: 'closed', code: error?.output?.statusCode ?? 0, why: error?.message ?? '' })
}

// delivered is 3, read is 4, played is 5 (WAProto, WebMessageInfo.Status)
function confirmed ({ key, update }) {
  const reached = { 3: 'delivered', 4: 'read', 5: 'read' }[update.status]
  if (key.fromMe && reached) last = last.then(() => keep({ what: reached, id: key.id, chat: key.remoteJid }))
}

function fault (error) {
  say({ event: 'trouble', why: String(error?.message ?? error) })
}

// -- requests --------------------------------------------------------------------------------------------------

const keyOf = ({ jid, message }) => known.get(message)?.key ?? { remoteJid: jid, id: message, fromMe: true }

function linked () {
  if (over || !sock?.user) throw new Failed('nothing', 'the connection is not there')
}

// A connection can be dead without a word of it: only one that has just answered is handed anything.
async function alive () {
  linked()
  const attrs = { to: 's.whatsapp.net', type: 'get', xmlns: 'w:p' }
  const silence = options.silence * 1000
  const answer = await unlessEnded(sock.query({ tag: 'iq', attrs, content: [{ tag: 'ping', attrs: {} }] }, silence))
  if (!answer) throw new Failed('nothing', `no sign of life for ${options.silence} s`)
}

// One message: made, with its file brought to WhatsApp, then handed over, then acknowledged. It goes by `relayMessage`
// and not by `sendMessage`, which does not tell where the one ends and the other begins.
async function relay ({ id, jid, messageId }, content, { quoted, edit } = {}) {
  let left = false
  const answer = new Promise((resolve) => acknowledged.set(messageId, resolve))
  try {
    linked()
    const about = { logger: quiet, userJid: sock.user.id, upload: sock.waUploadToServer, messageId, quoted }
    const message = await unlessEnded(baileys.generateWAMessage(jid, content, about))
    await alive()
    await say({ id, left: true })
    left = true
    const additionalAttributes = edit ? { edit } : {}
    await unlessEnded(sock.relayMessage(jid, message.message, { messageId, additionalAttributes }))
    remember(message)
    const { error: code, backoff } = await unlessEnded(within(answer))
    if (code) throw refusal(Number(code), backoff ?? '')
    return messageId
  } catch (error) {
    throw failure(error, left)
  } finally {
    acknowledged.delete(messageId)
  }
}

async function within (answer) {
  let timer
  const late = new Promise((resolve, reject) => {
    const why = new Failed('unsure', `no answer after ${options.answer} s`)
    timer = setTimeout(() => reject(why), options.answer * 1000)
  })
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}

function refusal (code, why) {
  const kind = { 401: 'login', 429: 'later' }[code] ?? (code >= 500 ? 'nothing' : 'refused')
  return new Failed(kind, `${code} ${why}`.trim())
}

// An error of the library's (Boom). `data` is a code of WhatsApp's for something that leads up to a message, and
// 428 (`DisconnectReason.connectionClosed`) is told before anything is written; any other leaves open what became of it.
function failure (error, left) {
  if (error instanceof Failed) return error
  if (typeof error?.data === 'number' && error.data >= 400) return refusal(error.data, error.data === 429 ? '' : error.message)
  const code = error?.output?.statusCode
  if (code === 400 && !left) return new Failed('refused', error.message)
  return new Failed(left && code !== 428 ? 'unsure' : 'nothing', String(error?.message ?? error))
}

// the attribute `edit` of a message that changes another of ours (Baileys, `sendMessage`)
const EDITED = '1'
const DELETED = '7'

const DEEDS = {
  send: (asked) => {
    const { content } = asked
    const path = content.path && { url: content.path }
    const made = content.kind === 'text' ? { text: content.text } : FILES[content.kind](path, content)
    return relay(asked, made, { quoted: known.get(asked.quoted) })
  },
  edit: (asked) => changed(asked, { text: asked.text, edit: keyOf(asked) }, QUARTER, EDITED),
  delete: async (asked) => {
    await changed(asked, { delete: keyOf(asked) }, 2 * DAY, DELETED)
    deleted.add(asked.message)
  },
  react: (asked) => relay(asked, { react: { text: asked.emoji, key: keyOf(asked) } }),
  typing: async ({ jid }) => {
    await alive()
    await unlessEnded(sock.sendPresenceUpdate('composing', jid))
  },
  fetch: async ({ message, path }) => {
    const kept = await readFile(mediaOf(message)).catch(() => { throw new Failed('gone', 'not kept any more') })
    const whole = baileys.proto.WebMessageInfo.decode(kept)
    const again = { logger: quiet, reuploadRequest: sock.updateMediaMessage }
    try {
      await pipeline(await baileys.downloadMediaMessage(whole, 'stream', {}, again), createWriteStream(path, { mode: 0o600 }))
    } catch (error) {
      const code = error?.output?.statusCode ?? error?.response?.status
      throw new Failed(code === 404 || code === 410 ? 'gone' : 'nothing', error.message)
    }
  },
  taken: ({ name }) => unlink(join(spool, name)).catch(() => {}),
  ping: async () => sock?.user?.id ?? ''
}

// A message of ours may be edited for 15 minutes and deleted for two days (faq.whatsapp.com); nobody says when it is too late.
async function changed (asked, content, most, edit) {
  const message = known.get(asked.message)
  if (deleted.has(asked.message)) throw new Failed('gone', 'it was deleted')
  if (message && !message.key.fromMe) throw new Failed('gone', 'it is not ours')
  if (message && Date.now() - Number(message.messageTimestamp) * 1000 > most) throw new Failed('gone', 'it is too old')
  return relay(asked, content, { edit })
}

async function obey (line) {
  const asked = JSON.parse(line)
  try {
    say({ id: asked.id, ok: (await DEEDS[asked.do](asked)) ?? '' })
  } catch (error) {
    const { error: kind, message } = failure(error, false)
    say({ id: asked.id, error: kind, why: message })
  }
}

// libsignal writes to the console, which would be taken for words of ours; and what it writes are keys
for (const name of ['log', 'info', 'debug', 'warn', 'error', 'trace']) console[name] = () => {}
// whoever started us is gone
process.stdout.on('error', () => process.exit(1))

await Promise.all([spool, media].map((path) => mkdir(path, { recursive: true, mode: 0o700 })))
baileys = await load('@whiskeysockets/baileys')
const asking = new Set()
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const done = obey(line).finally(() => asking.delete(done))
    asking.add(done)
  })
  .on('close', async () => {
    const done = Promise.all(asking).then(() => kept())
    await Promise.race([done, new Promise((resolve) => setTimeout(resolve, GRACE))])
    process.stdout.write('', () => process.exit())
  })
await tellWhatWasKept()
await prune()
await connect()
