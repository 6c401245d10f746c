// Who looks: a page that is served to others asks for a token.
import { html, useEffect, useState } from "./vendor/htm-preact.js";

const post = (path, body) => fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

// useViewer says who looks: undefined until that is known, and null if nobody has entered. It asks anew when again is called.
export function useViewer() {
  const [viewer, setViewer] = useState(undefined);
  const again = async () => {
    try {
      const response = await fetch("viewer");
      setViewer(response.ok ? await response.json() : {});
    } catch {
      setViewer((before) => before ?? {}); // the streams say that nothing answers
    }
  };
  useEffect(() => { again(); }, []);
  return [viewer, again];
}

// Enter asks for a token.
export function Enter({ again }) {
  const [token, setToken] = useState(""), [namespace, setNamespace] = useState(""), [wrong, setWrong] = useState("");
  const enter = async (event) => {
    event.preventDefault();
    setWrong("Asking the hub…");
    try {
      const response = await post("enter", { token, namespace });
      if (response.ok) { setToken(""); again(); } else setWrong(await response.text());
    } catch {
      setWrong("The server does not answer.");
    }
  };
  return html`<h1>Enter</h1>
    <p>Enter a token of the hub to see what you may read there. The page keeps none of it: the server does, until you leave, or the token ends.</p>
    <form class="tools" onSubmit=${enter}>
      <label class="search">Token<input id="token" type="password" autocomplete="off" required value=${token} onInput=${(e) => setToken(e.target.value)} /></label>
      <label class="search">Namespace<input id="namespace" value=${namespace} placeholder="all" onInput=${(e) => setNamespace(e.target.value)} /></label>
      <button type="submit">Enter</button></form>
    <p class="bad" role="alert">${wrong}</p>
    <p class="small">If you may not list budgets of all namespaces, name the one whose budgets you may. A token for an hour, of a ServiceAccount that may
      read what you want to see: <code>kubectl create token NAME -n NAMESPACE</code></p>`;
}

// Leave says who looks, and lets him leave.
export function Leave({ viewer, again }) {
  const leave = async () => { await post("leave", {}); again(); };
  return viewer.name && html`<span class="small">${viewer.name}</span><button type="button" onClick=${leave}>Leave</button>`;
}
