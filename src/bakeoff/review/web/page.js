"use strict";
// Everything of the corpus goes into the page as text nodes, never as markup.
const setup = JSON.parse(document.body.dataset.setup);
const at = id => document.getElementById(id);
const NAMES = Object.fromEntries(setup.choices.map(([word, name]) => [word, name]));
const WRONG = setup.choices.at(-1)[0];   // the choice that needs no grade
const store = {
  get(name) { try { return localStorage.getItem("bakeoff/" + name); } catch { return null; } },
  set(name, value) { try { localStorage.setItem("bakeoff/" + name, value); } catch { /* private window: nothing to keep it in */ } },
  drop(name) { try { localStorage.removeItem("bakeoff/" + name); } catch { /* as above */ } },
};

let reviewer = "";
let queue = [];
let current = null;
let busy = false;
let label = "";          // chosen in graded mode, waiting for its grade
let open = false;        // whether the context is shown
let lastQuery = "";
let micros = 0;
let wake = () => {};
const cards = new Map();

// ---- talking to the server ----

class Wrong extends Error {}

async function post(path, body) {
  const gone = new AbortController();
  const timer = setTimeout(() => gone.abort(), 10000);
  try {
    const answer = await fetch(path, {method: "POST", signal: gone.signal, credentials: "omit", cache: "no-store",
      headers: {"Content-Type": "application/json", "X-Review-Token": setup.token}, body: JSON.stringify(body)});
    if (answer.ok) return await answer.json();
    const said = await answer.json().catch(() => ({}));
    if (answer.status === 403 && await renew(gone.signal)) await new Promise(() => {});
    if (answer.status >= 500 || answer.status === 403) throw new Error(said.error || "the server failed");
    throw new Wrong(said.error || `the server answered ${answer.status}`);
  } finally { clearTimeout(timer); }
}

// a server that was started again has another token: once its address was opened in this browser, the page can be
// fetched anew; until then it stays as it is, with what is unsent
async function renew(signal) {
  const before = Number(sessionStorage.getItem("renewed") || 0);
  if (Date.now() - before < 5000) return false;
  const page = await fetch(location.href, {signal, credentials: "same-origin", cache: "no-store"});
  if (!page.ok) return false;
  sessionStorage.setItem("renewed", String(Date.now()));
  location.reload();
  return true;
}

async function persist(path, body, said) {
  for (let wait = 400; ; wait = Math.min(wait * 2, 5000)) {
    try {
      const answer = await post(path, body);
      lost("");
      return answer;
    } catch (fault) {
      if (fault instanceof Wrong) throw fault;
      const why = fault.message && !/fetch|abort|network/i.test(fault.message) ? ` (${fault.message})` : "";
      lost(said ? `Not saved yet${why}: “${said}” stays in this browser and is sent again until it is saved.`
        : `No answer from the review server${why}. Is it still running? Trying again.`);
      await new Promise(go => { wake = go; setTimeout(go, wait); });
    }
  }
}

function lost(text) {
  if (text && at("alert-text").textContent !== text) at("alert-text").textContent = text;
  at("again").hidden = false;
  at("alert").hidden = !text;
}

function complain(text) {
  at("alert-text").textContent = text;
  at("again").hidden = true;
  at("alert").hidden = false;
}

// the moment of a keystroke names it, so that one sent twice counts once
function stamp() {
  micros = Math.max(Date.now() * 1000 + Math.floor(Math.random() * 1000), micros + 1);
  const part = String(micros % 1000).padStart(3, "0");
  return new Date(Math.floor(micros / 1000)).toISOString().slice(0, -1) + part + "+00:00";
}

// a clock that was set back must not put an answer before those it follows
function after(latest) {
  const whole = Date.parse(latest.slice(0, 23) + "Z");
  if (whole) micros = Math.max(micros, whole * 1000 + Number(latest.slice(23, 26) || 0));
}

const slot = () => `unsent/${setup.review}/${reviewer}`;

async function send(path, body, said) {
  if (busy) return;
  busy = true;
  const whole = {...body, reviewer, time: stamp()};
  store.set(slot(), JSON.stringify({path, body: whole, said}));
  await deliver(path, whole, said);
}

async function deliver(path, body, said) {
  busy = true;
  try {
    const state = await persist(path, {...body, have: [...cards.keys()]}, said);
    store.drop(slot());
    if (body.key) store.drop("draft/" + body.key);
    take(state);
    report(path, state, said);
  } catch (fault) {
    store.drop(slot());
    complain(fault.message);
  } finally {
    busy = false;
    document.body.classList.remove("sending");
  }
}

function report(path, state, said) {
  const undone = state.undone;
  let text = path === "/undo" ? (undone ? `Taken back: ${undone.judgment || "answer"}` : "Nothing to undo") : `Saved: ${said}`;
  if (undone && undone.note && current && current.key === undone.key) setNote(undone.note);
  at("saved").textContent = path === "/undo" ? text : "Saved";
  at("saved").classList.add("on");
  setTimeout(() => at("saved").classList.remove("on"), path === "/undo" ? 1800 : 500);
  const p = state.progress;
  if (current) text += `. ${p.done} of ${p.total} judged.` + (current.query !== lastQuery ? ` New query: ${current.query}` : "");
  lastQuery = current ? current.query : "";
  at("status").textContent = text;
}

// ---- showing ----

function take(state) {
  after(state.latest);
  for (const card of state.cards) cards.set(card.key, card);
  queue = state.queue;
  for (const key of [...cards.keys()]) if (!queue.includes(key)) cards.delete(key);
  far(state.progress);
  at("advice").textContent = state.advice;
  at("advice").hidden = !state.advice;
  show(queue.length ? cards.get(queue[0]) : null, state.progress);
}

function far(p) {
  at("far").hidden = false;
  at("bar").max = Math.max(p.total, 1);
  at("bar").value = p.done;
  at("count").textContent = `${p.done.toLocaleString("en")} of ${p.total.toLocaleString("en")}`;
  at("left").textContent = p.done < p.total && p.seconds_left !== null ? duration(p.seconds_left) : "";
}

function duration(seconds) {
  if (seconds < 90) return "about a minute left";
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `about ${minutes} min left`;
  return `about ${Math.floor(minutes / 60)} h ${String(Math.round(minutes % 60 / 10) * 10 % 60).padStart(2, "0")} min left`;
}

function show(card, progress) {
  current = card;
  label = "";
  chooseGrade(false);
  for (const button of document.querySelectorAll(".chosen")) button.classList.remove("chosen");
  at("ask").hidden = true;
  at("judge").hidden = false;
  at("work").hidden = !card;
  at("done").hidden = Boolean(card);
  at("labels").hidden = !card;
  for (const id of ["later", "write", "context"]) at(id).hidden = !card;
  at("cannot").hidden = !card || setup.adjudicate;
  if (!card) return finished(progress);
  at("category").textContent = card.category;
  at("query-id").textContent = card.query_id;
  at("query").textContent = card.query;
  at("passage").setAttribute("aria-label", `Passage ${progress.done + 1} of ${progress.total}`);
  at("passage").classList.toggle("code", card.code);
  at("scroll").classList.toggle("code", card.code);
  at("passage").replaceChildren(...card.text.map(part));
  showSaid(card.said);
  showContext();
  setNote(store.get("draft/" + card.key) || "");
  at("scroll").scrollTop = 0;
  at("passage").focus({preventScroll: true});
}

function part([text, marked]) {
  if (!marked) return document.createTextNode(text);
  const mark = document.createElement("mark");
  mark.textContent = text;
  return mark;
}

function showSaid(said) {
  at("said").hidden = !said.length;
  at("said").replaceChildren(...said.map(one => {
    const row = document.createElement("li"), who = document.createElement("b");
    who.textContent = one.judgment;
    row.append(who, ` ${one.who}`, one.note ? ` · ${one.note}` : "");
    return row;
  }));
}

function showContext() {
  const card = current;
  at("context").setAttribute("aria-expanded", String(open));
  at("where").hidden = !open;
  at("before").hidden = !(open && card.before);
  at("after").hidden = !(open && card.after);
  at("before").textContent = card.before && "…" + card.before;
  at("after").textContent = card.after && card.after + "…";
  const name = document.createElement("b");
  name.textContent = card.document;
  const none = card.before || card.after ? "" : " · no text around it is stored";
  at("where").replaceChildren(name, (card.section ? ` · ${card.section}` : "") + ` · characters ${card.start}–${card.end}` + none);
}

function finished(p) {
  at("done-title").textContent = p.total ? (setup.adjudicate ? "Everything is decided." : "Everything is judged.")
    : (setup.adjudicate ? "Reviewers agree: there are no conflicts to settle." : "There is nothing left to judge.");
  const cannot = p.cannot ? `${p.cannot} could not be judged. ` : "";
  const each = p.seconds_each === null ? "" : `You took ${p.seconds_each < 10 ? p.seconds_each.toFixed(1) : Math.round(p.seconds_each)} seconds per judgment (median). `;
  at("done-text").textContent = p.total ? `${cannot}${each}All judgments are saved. Thank you, ${reviewer}.\nYou can close this page.` : "You can close this page.";
  at("done").focus();
}

// ---- notes ----

function setNote(text) {
  at("note").value = text;
  at("notes").hidden = !text;
  at("write").setAttribute("aria-expanded", String(Boolean(text)));
}

function writeNote() {
  at("notes").hidden = false;
  at("write").setAttribute("aria-expanded", "true");
  at("note").focus();
  at("notes").scrollIntoView({block: "nearest"});
}

function leaveNote() {
  if (!at("note").value) setNote("");
  at("passage").focus({preventScroll: true});
}

// ---- what a reviewer does ----

function judge(name) {
  if (busy || !current) return;
  document.querySelector(`[data-label=${name}]`).classList.add("chosen");
  if (setup.graded && name !== WRONG) { label = name; chooseGrade(true); return; }
  say("judge", {judgment: name, grade: setup.graded ? 0 : null}, NAMES[name]);
}

function grade(value) {
  if (busy || !current || !label) return;
  say("judge", {judgment: label, grade: value}, `${NAMES[label]}, ${value}`);
}

function chooseGrade(on) {
  at("grades").hidden = !on;
  at("asked").hidden = !on;
  at("labels").hidden = on;
  if (!on) return;
  const name = document.createElement("b");
  name.textContent = NAMES[label];
  at("asked").replaceChildren(name, ". How relevant is it? Esc goes back");
  at("status").textContent = `${NAMES[label]}. How relevant, 1 to 3?`;
  at("grades").querySelector("button").focus();
}

function say(kind, more, said) {
  if (!current) return;
  document.body.classList.add("sending");
  send("/say", {key: current.key, kind, note: at("note").value.trim(), ...more}, said);
}

const act = {
  cannot: () => say("cannot judge", {}, "Can’t judge"),
  later: () => say("later", {}, "put off"),
  undo: () => send("/undo", {}, "undo"),
  write: writeNote,
  context: () => { open = !open; showContext(); at("status").textContent = open ? "Context shown" : "Context hidden"; },
};

function explain() {
  at("keys").showModal();
  at("keys").querySelector("button").focus({preventScroll: true});
}

function back() {
  if (label) {
    label = "";
    chooseGrade(false);
    for (const button of document.querySelectorAll(".chosen")) button.classList.remove("chosen");
  }
  if (current) at("passage").focus({preventScroll: true});
}

addEventListener("keydown", event => {
  if (at("keys").open || at("judge").hidden) return;
  const typing = event.target.matches("textarea, input");
  if (event.key === "Escape") { event.preventDefault(); return typing ? leaveNote() : back(); }
  if (typing || event.repeat) return;
  const key = event.key.toLowerCase();
  if (key === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey) { event.preventDefault(); return act.undo(); }
  if (event.ctrlKey || event.metaKey || event.altKey || !at("single").checked) return;
  if (key === "?") { event.preventDefault(); return explain(); }
  const group = label ? "#grades" : "#labels";
  const button = document.querySelector(`${group} [data-key="${CSS.escape(key)}"], .others [data-key="${CSS.escape(key)}"]`);
  if (button && !button.disabled && !button.hidden) { event.preventDefault(); button.click(); }
  else if (setup.graded && key === "0" && !label) judge(WRONG);
});

setup.choices.forEach(([word, name, meaning], place) => {
  const key = String(place + 1), button = document.createElement("button"), cap = document.createElement("kbd"), text = document.createElement("span");
  Object.assign(button, {type: "button", title: meaning});
  Object.assign(button.dataset, {label: word, key});
  button.setAttribute("aria-keyshortcuts", key);
  [cap.textContent, text.textContent] = [key, name];
  button.append(cap, text);
  at("labels").append(button);
  for (const [list, before] of [[at("key-list"), at("key-list").children[2 * place]], [at("meanings"), null]]) {
    const term = document.createElement("dt"), what = document.createElement("dd");
    term.append(...(list === at("meanings") ? [name] : [cap.cloneNode(true), " " + name]));
    what.textContent = meaning;
    list.insertBefore(term, before);
    list.insertBefore(what, before);
  }
});
at("guideline").textContent = setup.guideline;
at("guideline").hidden = !setup.guideline;
at("guide").open = matchMedia("(min-width: 70rem)").matches;
for (const button of document.querySelectorAll("[data-label]")) button.addEventListener("click", () => judge(button.dataset.label));
for (const button of document.querySelectorAll("[data-grade]")) button.addEventListener("click", () => grade(Number(button.dataset.grade)));
for (const [id, does] of Object.entries(act)) at(id).addEventListener("click", does);
at("again").addEventListener("click", () => wake());
at("help").addEventListener("click", explain);
at("who").addEventListener("click", () => { if (!busy) askName(); });
at("note").addEventListener("input", () => { if (current) store.set("draft/" + current.key, at("note").value); });
at("single").checked = store.get("single") !== "off";
at("single").addEventListener("change", () => store.set("single", at("single").checked ? "on" : "off"));
at("keys").addEventListener("close", back);
addEventListener("online", () => wake());

// ---- coming in ----

function askName() {
  for (const id of ["work", "done", "judge", "far", "who"]) at(id).hidden = true;
  at("ask").hidden = false;
  at("name").value = reviewer || store.get("reviewer") || "";
  at("name").select();
  at("name").focus();
}

at("ask").addEventListener("submit", event => {
  event.preventDefault();
  const name = at("name").value.trim();
  if (name) begin(name);
});

async function begin(name) {
  try {
    reviewer = name;
    const unsent = JSON.parse(store.get(slot()) || "null");
    if (unsent) await deliver(unsent.path, unsent.body, unsent.said);
    cards.clear();
    const state = await persist("/open", {reviewer: name}, "");
    reviewer = state.reviewer;
    store.set("reviewer", reviewer);
    history.replaceState(null, "", "?" + new URLSearchParams({reviewer}));
    at("who").textContent = reviewer;
    at("who").setAttribute("aria-label", `Reviewer ${reviewer}, change`);
    at("who").hidden = false;
    take(state);
    lastQuery = current ? current.query : "";
    at("status").textContent = current ? `Query: ${current.query}` : at("done-title").textContent;
  } catch (fault) {
    askName();
    complain(fault.message);
  }
}

at("run").textContent = (setup.adjudicate ? "Settling conflicts · " : "Review · ") + setup.run;
document.title = (setup.adjudicate ? "Decide · " : "Review · ") + setup.run;
const given = new URLSearchParams(location.search).get("reviewer") || setup.reviewer || store.get("reviewer");
if (given && given.trim()) begin(given.trim()); else askName();
