// What the server tells: the parts of a page, and then those that change.
import { useEffect, useState } from "./vendor/htm-preact.js";

const nothing = { parts: {}, live: undefined };

// useParts follows a page. It returns its parts by key, and whether the server answers: undefined until it does. It calls
// refused when the server has answered, and not with a page.
export function useParts(query, refused) {
  const [told, setTold] = useState(nothing);
  useEffect(() => {
    const stream = new EventSource("events?" + query);
    let parts = {};
    stream.onopen = () => { parts = {}; }; // it begins anew with all parts
    stream.onmessage = (message) => {
      const change = JSON.parse(message.data);
      parts = { ...parts, ...change.set };
      for (const key of change.gone ?? []) delete parts[key];
      setTold({ query, parts, live: true });
    };
    stream.onerror = () => {
      setTold({ query, parts, live: false });
      if (stream.readyState === EventSource.CLOSED) refused();
    };
    return () => stream.close();
  }, [query]);
  return told.query === query ? told : nothing;
}

// below returns the parts whose keys begin with a prefix, with their keys.
export function below(parts, prefix) {
  return Object.entries(parts).filter(([key]) => key.startsWith(prefix)).map(([key, part]) => ({ key, ...part }));
}
