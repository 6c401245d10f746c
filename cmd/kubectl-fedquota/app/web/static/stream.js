// What the server tells: the parts of a page, and then those that change.
import { useEffect, useState } from "/vendor/htm-preact.js";

// useParts follows a page. It returns its parts by key, and whether the server answers: undefined until it does.
export function useParts(query) {
  const [told, setTold] = useState({ parts: {}, live: undefined });
  useEffect(() => {
    const stream = new EventSource("/events?" + query);
    let parts = {};
    stream.onopen = () => { parts = {}; }; // it begins anew with all parts
    stream.onmessage = (message) => {
      const change = JSON.parse(message.data);
      parts = { ...parts, ...change.set };
      for (const key of change.gone ?? []) delete parts[key];
      setTold({ parts, live: true });
    };
    stream.onerror = () => setTold({ parts, live: false });
    return () => { stream.close(); setTold({ parts: {}, live: undefined }); };
  }, [query]);
  return told;
}

// below returns the parts whose keys begin with a prefix, with their keys.
export function below(parts, prefix) {
  return Object.entries(parts).filter(([key]) => key.startsWith(prefix)).map(([key, part]) => ({ key, ...part }));
}
