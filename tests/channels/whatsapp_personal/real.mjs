// What the real Baileys makes of the things that the bridge relies on. No network is needed.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [modules, bridge] = process.argv.slice(2)
const module = await import(pathToFileURL(createRequire(join(modules, 'x.js')).resolve('@whiskeysockets/baileys')))
const baileys = { ...module, ...module.default }
const { told } = await import(pathToFileURL(join(bridge, 'told.mjs')))

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
  return told(whole, baileys.normalizeMessageContent(whole.message), { id: '4915:7@s.whatsapp.net', lid: '998:7@lid' })
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

const names = ['makeWASocket', 'useMultiFileAuthState', 'downloadMediaMessage', 'normalizeMessageContent']
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
  silent: arrived({ protocolMessage: { type: 'EPHEMERAL_SETTING' } })
}))
process.exit()
