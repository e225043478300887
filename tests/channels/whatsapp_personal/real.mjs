// What the real Baileys makes of the things that the bridge relies on. No network is needed.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [modules, bridge] = process.argv.slice(2)
const load = async (name) => {
  const module = await import(pathToFileURL(createRequire(join(modules, 'x.js')).resolve(name)))
  return { ...module, ...module.default }
}
const baileys = await load('@whiskeysockets/baileys')
const { login } = await import(pathToFileURL(join(bridge, 'kept.mjs')))
const { drawn } = await import(pathToFileURL(join(bridge, 'drawn.mjs')))
const { told, FILES } = await import(pathToFileURL(join(bridge, 'told.mjs')))

// a message as it comes over the wire
const arrived = (message, key = {}) => {
  const { proto } = baileys
  const bytes = proto.Message.encode(proto.Message.fromObject(message)).finish()
  const whole = {
    key: { remoteJid: '4366012345678@s.whatsapp.net', id: '3A01', fromMe: false, ...key },
    pushName: 'Ann',
    messageTimestamp: 1790000000,
    message: proto.Message.decode(bytes)
  }
  return told(whole, baileys.normalizeMessageContent, { id: '4915:7@s.whatsapp.net', lid: '998:7@lid' })
}
// the key under which a file was encrypted, after the bridge has kept the message and read it again
const kept = (mediaKey) => {
  const { WebMessageInfo } = baileys.proto
  const message = { key: { id: '3A01' }, message: { imageMessage: { mediaKey: Buffer.from(mediaKey), directPath: '/v/1' } } }
  const again = WebMessageInfo.decode(WebMessageInfo.encode(WebMessageInfo.fromObject(message)).finish())
  return Buffer.from(again.message.imageMessage.mediaKey).toString()
}
const group = { remoteJid: '12@g.us', participant: '55@lid', participantAlt: '4366012345678@s.whatsapp.net' }
const media = { mimetype: 'audio/ogg; codecs=opus', fileLength: 12345, seconds: 3, ptt: true }

const quiet = { level: 'silent', trace () {}, debug () {}, info () {}, warn () {}, error () {}, child: () => quiet }
const us = '4915:7@s.whatsapp.net'
const ann = '4366012345678@s.whatsapp.net'
const brought = []
// what is handed over, as the bridge has it made
const made = async (content, quoted) => {
  const upload = async (path) => brought.push(path) && { mediaUrl: 'https://example.com/v/9', directPath: '/v/9' }
  const about = { logger: quiet, userJid: us, upload, messageId: '3EB0CAFE', quoted }
  const { key, message, messageTimestamp } = await baileys.generateWAMessage(ann, content, about)
  return { id: key.id, at: Number(messageTimestamp), message: baileys.proto.Message.create(message).toJSON() }
}
const path = join(tmpdir(), `${process.pid}.bin`)
writeFileSync(path, 'bytes')
const file = (kind, more) => made(FILES[kind]({ url: path }, { mime: 'audio/ogg; codecs=opus', seconds: 1, caption: '', ...more }))
const key = { remoteJid: ann, id: '3EB0', fromMe: true }

// a login, written, and read again by another life; what an end in the middle of writing leaves is nothing
const folder = mkdtempSync(join(tmpdir(), 'login'))
const first = await login(baileys, folder)
first.auth.creds.me = { id: us, name: 'Änne' }
await first.save()
const bytes = Buffer.from([0, 255, 7])
await first.auth.keys.set({ session: { '55:1/2': bytes, gone: bytes }, 'app-state-sync-key': { AA: { keyData: bytes, timestamp: 7 } } })
await first.auth.keys.set({ session: { gone: null } })
writeFileSync(join(folder, 'creds.json.new'), '{"me": {"i')
const second = await login(baileys, folder)
const found = await second.auth.keys.get('session', ['55:1/2', 'gone'])
const appState = await second.auth.keys.get('app-state-sync-key', ['AA'])
writeFileSync(join(folder, 'creds.json'), '{"me": {"i')
const relogin = {
  me: second.auth.creds.me,
  same: second.auth.creds.noiseKey.private.equals(first.auth.creds.noiseKey.private),
  session: [...found['55:1/2']],
  gone: found.gone,
  appState: [...appState.AA.keyData],
  torn: await login(baileys, folder).then(() => 'taken for none', (error) => error.message.replace(folder, 'FOLDER').replace(/ \(.*\)/, '')),
  files: readdirSync(folder).sort()
}
rmSync(folder, { recursive: true })

// a connection that is not there
const sock = baileys.makeWASocket({
  auth: { creds: baileys.initAuthCreds(), keys: { get: async () => ({}), set: async () => {} } },
  logger: quiet,
  waWebSocketUrl: 'ws://127.0.0.1:1/'
})
const deeds = ['query', 'relayMessage', 'waUploadToServer', 'sendPresenceUpdate', 'updateMediaMessage']
const ping = { tag: 'iq', attrs: { to: 's.whatsapp.net', type: 'get', xmlns: 'w:p' }, content: [{ tag: 'ping', attrs: {} }] }
const refused = await sock.query(ping, 60000).catch((error) => error.output.statusCode)

const names = ['makeWASocket', 'initAuthCreds', 'downloadMediaMessage', 'normalizeMessageContent', 'generateWAMessage']
console.log(JSON.stringify({
  functions: names.filter((name) => typeof baileys[name] === 'function'),
  words: arrived({ conversation: 'hello' }),
  disappearing: arrived({ ephemeralMessage: { message: { extendedTextMessage: { text: 'soon gone' } } } }),
  voice: arrived({ audioMessage: media }),
  paper: arrived({ documentWithCaptionMessage: { message: { documentMessage: { fileName: 'a.pdf', caption: 'the paper', mimetype: 'application/pdf' } } } }),
  mention: arrived({ extendedTextMessage: { text: 'you?', contextInfo: { mentionedJid: ['998@lid'] } } }, group),
  reaction: arrived({ reactionMessage: { key: { id: '3EB0' }, text: '👍' } }),
  deletion: arrived({ protocolMessage: { key: { id: '3A00' }, type: 'REVOKE' } }),
  edit: arrived({ protocolMessage: { key: { id: '3A00' }, type: 'MESSAGE_EDIT', editedMessage: { conversation: 'better' } } }),
  kept: kept('thirty-two bytes of a media key!'),
  deeds: deeds.filter((name) => typeof sock[name] === 'function'),
  refused,
  relogin,
  made: {
    words: await made({ text: 'hello https://example.com' }),
    reply: await made({ text: 'hello' }, { key, message: { conversation: 'what was said' } }),
    edit: await made({ text: 'better', edit: key }),
    deletion: await made({ delete: key }),
    reaction: await made({ react: { text: '👍', key } }),
    voice: await file('voice', { waveform: Buffer.from([...Array(32).fill(0), ...Array(32).fill(100)]).toString('base64') }),
    paper: await file('document', { name: 'a.pdf', mime: 'application/pdf', caption: 'the paper' })
  },
  brought: brought.length,
  code: await drawn(await load('qrcode-terminal'), Array(4).fill('2@secret,of,the,pairing'.repeat(2)).join()),
  silent: arrived({ protocolMessage: { type: 'EPHEMERAL_SETTING' } }),
  keys: arrived({ senderKeyDistributionMessage: { groupId: '1@g.us' }, messageContextInfo: { messageSecret: 'AA==' } }),
  unknown: arrived({ eventMessage: { name: 'a feast' }, messageContextInfo: { messageSecret: 'AA==' } }),
  answer: arrived({ extendedTextMessage: { text: 'why?', contextInfo: { stanzaId: '3A07', quotedMessage: { audioMessage: media } } } })
}))
rmSync(path)
process.exit()
