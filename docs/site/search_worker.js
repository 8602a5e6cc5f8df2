// A page that is opened from a folder may not start a worker, which the search needs. Here the worker's
// script runs in a hidden frame of the page instead. On a server nothing is changed.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(address) {
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (message) => {
        const data = structuredClone(message); // as from a worker: a copy, and later
        setTimeout(() => this.onmessage && this.onmessage({ data }));
      };
      const script = inside.document.createElement("script");
      script.src = address;
      script.onerror = () => this.onerror && this.onerror(new Event("error", { cancelable: true }));
      script.onload = () => {
        this.isReady = true;
        this.waiting.splice(0).forEach((data) => this.deliver(data));
      };
      inside.document.documentElement.appendChild(script);
    }

    postMessage(message) {
      const data = structuredClone(message);
      if (this.isReady) this.deliver(data);
      else this.waiting.push(data);
    }

    deliver(data) {
      setTimeout(() => {
        const inside = this.frame.contentWindow;
        if (inside) inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.frame.remove();
    }
  };
}
