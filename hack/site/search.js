// Finds sections of pages that have all the words that somebody types. The sections are loaded at the first use.
(() => {
  const root = document.currentScript.dataset.root;
  const query = document.getElementById("query");
  const results = document.getElementById("results");
  const article = document.querySelector("article");
  const most = 30, around = 80;

  const load = () => {
    if (document.getElementById("sections")) return;
    const script = Object.assign(document.createElement("script"), { id: "sections", src: root + "sections.js" });
    script.onload = show;
    document.head.append(script);
  };

  // A word counts most in a heading, and least in the text. A section that lacks a word counts nothing.
  const score = (section, words) => {
    const heading = section.heading.toLowerCase(), page = section.page.toLowerCase(), text = section.text.toLowerCase();
    let sum = 0;
    for (const word of words) {
      const found = (heading.includes(word) ? 10 : 0) + (page.includes(word) ? 4 : 0) + (text.includes(word) ? 1 : 0);
      if (!found) return 0;
      sum += found;
    }
    return sum;
  };

  const item = (section, word) => {
    const link = Object.assign(document.createElement("a"), { href: root + section.url });
    link.textContent = section.page === section.heading ? section.page : section.page + ": " + section.heading;
    const at = Math.max(0, section.text.toLowerCase().indexOf(word));
    const text = document.createElement("p");
    text.textContent = (at > around ? "…" : "") + section.text.slice(Math.max(0, at - around), at + 2 * around);
    const entry = document.createElement("li");
    entry.append(link, text);
    return entry;
  };

  const show = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    results.hidden = !words.length;
    article.hidden = !results.hidden;
    if (!words.length || !window.sections) return;
    const found = window.sections.map((section) => ({ section, score: score(section, words) })).filter((f) => f.score);
    found.sort((a, b) => b.score - a.score);
    results.replaceChildren(...found.slice(0, most).map((f) => item(f.section, words[0])));
    if (!found.length) results.textContent = "Nothing has all of these words.";
  };

  query.addEventListener("focus", load);
  query.addEventListener("input", () => { load(); show(); });
  results.addEventListener("click", (event) => {
    if (event.target.tagName !== "A") return;
    query.value = "";
    show();
  });
})();
