// What is kept on the disk: a file is there as it was, or as it becomes, and whole, whenever anything ends.
import { mkdir, open, readFile, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'

export async function write (path, data) {
  const file = await open(`${path}.new`, 'w', 0o600)
  await file.writeFile(data)
  await file.sync()
  await file.close()
  await rename(`${path}.new`, path)
}

const unlessMissing = (error) => {
  if (error.code !== 'ENOENT') throw error
  return null
}

// The login, and the keys of every conversation, in the files in which Baileys keeps them (`useMultiFileAuthState`), one
// after another. A login that cannot be read is told, and never taken for none: that would be the end of it.
export async function login (baileys, folder) {
  const { BufferJSON, initAuthCreds, proto } = baileys
  await mkdir(folder, { recursive: true, mode: 0o700 })
  let last = Promise.resolve()
  const inTurn = (deed) => {
    const done = last.then(deed)
    last = done.catch(() => {})
    return done
  }
  const path = (name) => join(folder, `${name.replace(/\//g, '__').replace(/:/g, '-')}.json`)
  const read = (name) => inTurn(async () => {
    const text = await readFile(path(name), 'utf8').catch(unlessMissing)
    return text === null ? null : JSON.parse(text, BufferJSON.reviver)
  })
  const put = (name, value) => inTurn(() => value
    ? write(path(name), JSON.stringify(value, BufferJSON.replacer))
    : unlink(path(name)).catch(unlessMissing))

  const key = async (type, id) => {
    const value = await read(`${type}-${id}`)
    return type === 'app-state-sync-key' && value ? proto.Message.AppStateSyncKeyData.fromObject(value) : value
  }
  const keys = {
    get: async (type, ids) => Object.fromEntries(await Promise.all(ids.map(async (id) => [id, await key(type, id)]))),
    set: async (data) => {
      const all = Object.entries(data).flatMap(([type, ids]) => Object.entries(ids).map(([id, value]) => put(`${type}-${id}`, value)))
      await Promise.all(all)
    }
  }
  const creds = (await read('creds').catch((error) => {
    throw new Error(`the login in ${folder} cannot be read (${error.message}); without that folder the number can be linked anew`)
  })) ?? initAuthCreds()
  return { auth: { creds, keys }, save: () => put('creds', creds), saved: () => last }
}
