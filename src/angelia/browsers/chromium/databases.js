// What a site keeps in IndexedDB, as text and back. Runs beside the page's scripts when it reads, and in an empty page
// of the site when it puts. A database that cannot be told whole (keys that no script may read, files, more than `most`
// characters) is left out, and one without a record too.
(() => {
  const KINDS = { Uint8Array, Int8Array, Uint8ClampedArray, Uint16Array, Int16Array, Uint32Array, Int32Array, Float32Array,
    Float64Array, BigInt64Array, BigUint64Array, DataView };
  // Plain values stand for themselves; all else is a pair of what it is and what it holds.
  const told = (value) => {
    if (value === null || ["boolean", "string"].includes(typeof value)) return value;
    if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0) ? value : ["number", Object.is(value,
      -0) ? "-0" : String(value)];
    if (value === undefined) return ["undefined", ""];
    if (typeof value === "bigint") return ["bigint", String(value)];
    if (Array.isArray(value)) return ["array", value.map(told)];
    if (value instanceof Date) return ["date", told(value.getTime())];
    if (value instanceof Map) return ["map", [...value].map((pair) => pair.map(told))];
    if (value instanceof Set) return ["set", [...value].map(told)];
    if (value instanceof ArrayBuffer) return ["bytes", bytes(new Uint8Array(value))];
    if (ArrayBuffer.isView(value)) return [value.constructor.name, bytes(new Uint8Array(value.buffer, value.byteOffset,
      value.byteLength))];
    if (Object.prototype.toString.call(value) !== "[object Object]") throw new TypeError("it has no words");
    return ["object", Object.entries(value).map(([name, one]) => [name, told(one)])];
  };
  const bytes = (all) => { let text = ""; for (const one of all) text += String.fromCharCode(one); return btoa(text); };
  const meant = (said) => {
    if (!Array.isArray(said)) return said;
    const [kind, held] = said;
    switch (kind) {
      case "number": return Number(held);
      case "undefined": return undefined;
      case "bigint": return BigInt(held);
      case "array": return held.map(meant);
      case "date": return new Date(meant(held));
      case "map": return new Map(held.map((pair) => pair.map(meant)));
      case "set": return new Set(held.map(meant));
      case "object": return Object.fromEntries(held.map(([name, one]) => [name, meant(one)]));
    }
    const { buffer } = Uint8Array.from(atob(held), (one) => one.charCodeAt(0));
    return kind === "bytes" ? buffer : new KINDS[kind](buffer);
  };

  const answer = (request) => new Promise((done, failed) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => failed(request.error);
    request.onblocked = () => failed(new Error("a page of the site has it open"));
  });
  const opened = async (name, version, upgrade) => {
    const request = indexedDB.open(name, version);
    request.onupgradeneeded = () => upgrade(request);
    const database = await answer(request);
    database.onversionchange = () => database.close(); // a page that wants to change it does not wait for us
    return database;
  };
  const ended = (transaction) => new Promise((done, failed) => {
    transaction.oncomplete = () => done();
    transaction.onabort = () => failed(transaction.error);
  });

  const one = async (name, most) => {
    // It is gone again, and none is made in its place.
    const database = await opened(name, undefined, (request) => request.transaction.abort());
    try {
      const stores = [];
      let left = most, records = 0;
      if (!database.objectStoreNames.length) return null;
      const transaction = database.transaction([...database.objectStoreNames]);
      for (const store of [...database.objectStoreNames].map((each) => transaction.objectStore(each))) {
        const indexes = [...store.indexNames].map((each) => store.index(each)).map((index) => ({ name: index.name,
          path: index.keyPath, unique: index.unique, every: index.multiEntry }));
        const entries = [];
        const request = store.openCursor();
        for (let cursor = await answer(request); cursor; cursor = await answer(request)) {
          const entry = [told(cursor.primaryKey), told(cursor.value)];
          left -= JSON.stringify(entry).length;
          if (left < 0) return null;
          entries.push(entry);
          records++;
          cursor.continue();
        }
        stores.push({ name: store.name, path: store.keyPath, counts: store.autoIncrement, indexes, entries });
      }
      return records ? { name, version: database.version, stores } : null;
    } finally {
      database.close();
    }
  };
  // All of the site's; null where that cannot be said within a moment.
  const read = (most) => Promise.race([
    (async () => {
      const found = [];
      for (const { name } of (await indexedDB.databases()).sort((a, b) => (a.name < b.name ? -1 : 1))) {
        const database = await one(name, most).catch(() => null);
        if (database) found.push(database);
        most -= database ? JSON.stringify(database).length : 0;
      }
      return found;
    })(),
    new Promise((done) => setTimeout(done, 3000, null)),
  ]);

  const made = (request, stores) => {
    for (const { name, path, counts, indexes } of stores) {
      const store = request.result.createObjectStore(name, { keyPath: path, autoIncrement: counts });
      for (const index of indexes) store.createIndex(index.name, index.path, { unique: index.unique, multiEntry: index.every });
    }
  };
  // A page of the site may have made it already, and have it open: then its records are replaced, as far as it is alike.
  const put = async (databases) => {
    for (const { name, version, stores } of databases) {
      const there = (await indexedDB.databases()).find((each) => each.name === name);
      if (there && there.version !== version) await answer(indexedDB.deleteDatabase(name));
      const database = await opened(name, version, (request) => made(request, stores));
      try {
        const transaction = database.transaction(stores.map((each) => each.name), "readwrite");
        const over = ended(transaction);
        for (const { name: each, path, entries } of stores) {
          const store = transaction.objectStore(each);
          store.clear();
          for (const [key, value] of entries) store.put(meant(value), ...(path === null ? [meant(key)] : []));
        }
        await over;
      } finally {
        database.close();
      }
    }
  };
  return { read, put };
})()
