// Browsers start no worker for a page from disk. There it is run in a hidden frame, so that search works.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.onmessage = this.onerror = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => {
        const copy = structuredClone(data);
        setTimeout(() => this.onmessage && this.onmessage({ data: copy }));
      };
      const script = inside.document.createElement("script");
      this.loaded = new Promise((done) => (script.onload = done));
      script.onerror = (error) => this.onerror && this.onerror(error);
      script.src = url;
      inside.document.body.append(script);
    }
    postMessage(data) {
      const copy = structuredClone(data);
      this.loaded.then(() => this.frame.contentWindow && this.frame.contentWindow.onmessage({ data: copy }));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
