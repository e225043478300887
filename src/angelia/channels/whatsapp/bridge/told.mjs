// What a message tells, in the words of the bridge; pure.

const num = (value) => Number(value?.toString?.() ?? 0)

// How the kinds of files go out (Baileys, AnyMediaMessageContent).
export const FILES = {
  photo: (path, { caption, mime }) => ({ image: path, caption, mimetype: mime }),
  video: (path, { caption, mime }) => ({ video: path, caption, mimetype: mime }),
  animation: (path, { caption, mime }) => ({ video: path, caption, mimetype: mime, gifPlayback: true }),
  audio: (path, { mime, seconds }) => ({ audio: path, mimetype: mime, seconds }),
  voice: (path, { mime, seconds, waveform }) => ({
    audio: path, mimetype: mime, seconds, ptt: true, ...(waveform && { waveform: Buffer.from(waveform, 'base64') })
  }),
  document: (path, { caption, mime, name }) => ({ document: path, caption, mimetype: mime, fileName: name })
}

const MEDIA = {
  imageMessage: 'photo',
  videoMessage: 'video',
  ptvMessage: 'video',
  audioMessage: 'audio',
  documentMessage: 'document',
  stickerMessage: 'sticker'
}

// protocolMessage.type (WAProto, ProtocolMessage.Type)
const REVOKE = 0
const MESSAGE_EDIT = 14

// What stands in a message and says nothing to anybody: keys, votes, marks, what a phone adds around it (WAProto, Message)
const AROUND = new Set([
  'senderKeyDistributionMessage', 'fastRatchetKeySenderKeyDistributionMessage', 'messageContextInfo', 'pollUpdateMessage',
  'keepInChatMessage', 'pinInChatMessage', 'encReactionMessage', 'encEventResponseMessage', 'deviceSentMessage',
  'callLogMesssage', 'bcallMessage', 'chat', 'call', 'placeholderMessage'
])

const bare = (jid) => (jid ?? '').replace(/:\d+(?=@)/, '')

// The envelope of one message, or nothing for what nobody says to anybody. `open` takes a message's content out of what
// it is wrapped in.
export function told (message, open, me) {
  const { key } = message
  const content = open(message.message)
  const chat = key.remoteJid ?? ''
  if (!content || /@(broadcast|newsletter|bot)$/.test(chat)) return null
  const from = key.participant || chat
  const phone = key.participantPn ?? key.senderPn ?? key.participantAlt ?? key.remoteJidAlt ?? ''
  const base = {
    id: key.id,
    chat,
    from: bare(/@s\.whatsapp\.net$/.test(phone) ? phone : from),
    name: message.pushName ?? '',
    ours: Boolean(key.fromMe),
    at: num(message.messageTimestamp)
  }
  const protocol = content.protocolMessage
  if (protocol) return changed(base, protocol)
  if (content.reactionMessage) {
    return { ...base, what: 'reaction', about: content.reactionMessage.key?.id, text: content.reactionMessage.text ?? '' }
  }
  return said(base, content, open, [bare(me?.id), bare(me?.lid)].filter(Boolean))
}

function changed (base, protocol) {
  const about = protocol.key?.id
  if ((protocol.type ?? REVOKE) === REVOKE && about) return { ...base, what: 'deletion', about }
  if (protocol.type !== MESSAGE_EDIT) return null
  return { ...base, what: 'edit', about, text: wordsOf(protocol.editedMessage ?? {}) }
}

function said (base, content, open, me) {
  const type = Object.keys(content).find((name) => content[name] && !AROUND.has(name))
  if (!type) return null
  const context = content[type]?.contextInfo ?? {}
  const to = [...(context.mentionedJid ?? []), context.stanzaId ? context.participant : ''].map(bare)
  const answered = context.quotedMessage ? open(context.quotedMessage) ?? {} : {}
  const about = { answers: context.stanzaId ?? '', quoted: wordsOf(answered), answered: fileOf(answered) }
  const file = fileOf(content)
  const text = wordsOf(content) || (file ? '' : `(something of the kind “${type}”, which is not read here)`)
  const forwarded = Boolean(context.isForwarded)
  return { ...base, what: 'said', text, file, ...about, forwarded, toUs: to.some((one) => me.includes(one)) }
}

// The answered message, as far as the answer holds it: enough to have its file brought.
export function answeredMessage (message, open) {
  const content = open(message.message) ?? {}
  const { stanzaId, participant, quotedMessage } = Object.values(content).find((one) => one?.contextInfo?.quotedMessage)?.contextInfo ?? {}
  return { key: { remoteJid: message.key.remoteJid, id: stanzaId, participant }, message: quotedMessage }
}

function fileOf (content) {
  const type = Object.keys(MEDIA).find((name) => content[name])
  if (!type) return null
  const file = content[type]
  const kind = file.ptt ? 'voice' : file.gifPlayback ? 'animation' : MEDIA[type]
  return { kind, mime: file.mimetype ?? '', name: file.fileName ?? '', size: num(file.fileLength ?? -1), seconds: num(file.seconds) }
}

function wordsOf (content) {
  const place = content.locationMessage ?? content.liveLocationMessage
  if (place) {
    const named = [place.name, place.address].filter(Boolean).join(', ')
    const where = `Location: ${place.degreesLatitude}, ${place.degreesLongitude}`
    return named ? `${where} (${named})` : where
  }
  const cards = content.contactsArrayMessage?.contacts ?? (content.contactMessage ? [content.contactMessage] : [])
  if (cards.length) return cards.map(card).join('\n')
  const poll = content.pollCreationMessage ?? content.pollCreationMessageV3
  if (poll) return [`Poll: ${poll.name}`, ...poll.options.map((one) => `• ${one.optionName}`)].join('\n')
  const captioned = content.imageMessage ?? content.videoMessage ?? content.documentMessage
  return content.conversation || content.extendedTextMessage?.text || captioned?.caption || ''
}

function card ({ displayName, vcard }) {
  const numbers = [...(vcard ?? '').matchAll(/^(?:item\d+\.)?TEL[^:]*:(.+)$/gm)].map((found) => found[1].trim())
  return `Contact: ${displayName}, ${numbers.join(', ')}`
}
