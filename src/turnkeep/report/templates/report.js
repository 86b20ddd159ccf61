"use strict";
// Whatever stands in a message reaches the page as text (textContent, canvas) and never
// as markup; the page's policy would not run it either.
(async () => {
  const started = performance.now();
  const $ = (id) => document.getElementById(id);
  const inflate = async (id) => {
    const coded = $(id).textContent;
    const bytes = Uint8Array.from(atob(coded), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  const data = JSON.parse(await inflate("data"));
  const { messages, texts, plan, session } = data;
  const number = new Intl.NumberFormat("en").format;
  const one = (n, word) => `${number(n)} ${word}${n === 1 ? "" : "s"}`;
  const make = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };

  // -- messages ---------------------------------------------------------------------------

  const PAGE = 100;
  const FATES = { keep: "kept", edit: "changed", drop: "dropped" };
  let found = messages.map((_, place) => place);
  let page = 0;
  let here = -1;
  let only = null; // a set of places, from a prune or a cause
  let onlyWords = "";
  let lowered = null;
  let timer = 0; // waits for the end of typing

  const search = $("search");
  const words = () => search.value.trim().toLowerCase();
  const textOf = (place) => texts[place].map(([head, text]) => `${head} ${text}`).join("\n");

  function haystacks() {
    lowered ??= messages.map((m, place) =>
      `${m.id} ${m.tools.join(" ")} ${textOf(place)}`.toLowerCase());
    return lowered;
  }

  function filter() {
    clearTimeout(timer);
    const wanted = words();
    const role = $("role").value, fate = $("fate").value, tool = $("tool").value;
    const turn = $("turn").value === "" ? null : Number($("turn").value);
    const pinned = $("pinned").checked, pending = $("pending").checked;
    const call = session && $("call").value !== "" ? Number($("call").value) - 1 : null;
    const sent = (place) => session.stays[place].some(([since, until]) =>
      since <= call && (until < 0 || call < until));
    const hay = wanted ? haystacks() : null;
    found = [];
    messages.forEach((m, place) => {
      if ((only && !only.has(place)) || (role && m.role !== role) ||
          (fate && m.action !== fate) || (tool && !m.tools.includes(tool)) ||
          (turn !== null && m.turn !== turn) || (pinned && !m.pinned) ||
          (call !== null && !sent(place)) || (pending && !m.pending.length) || (hay && !hay[place].includes(wanted))) return;
      found.push(place);
    });
    page = 0;
    here = -1;
    draw();
  }

  function badge(text, kind) {
    return make("span", { class: `badge ${kind}` }, text);
  }

  function marked(text) {
    const wanted = words();
    const pre = make("pre");
    const low = text.toLowerCase();
    // Some letters change their length in lower case; then nothing is marked.
    if (!wanted || low.length !== text.length) {
      pre.textContent = text;
      return pre;
    }
    let from = 0;
    for (let count = 0; count < 500; count += 1) {
      const at = low.indexOf(wanted, from);
      if (at < 0) break;
      pre.append(text.slice(from, at), make("mark", {}, text.slice(at, at + wanted.length)));
      from = at + wanted.length;
    }
    pre.append(text.slice(from));
    return pre;
  }

  const firstStep = new Map();
  for (const m of messages) firstStep.set(m.turn, Math.min(m.step, firstStep.get(m.turn) ?? m.step));

  function why(m, place) {
    const lines = [];
    if (plan) lines.push(`Plan: ${FATES[m.action]}${m.cause ? ` (${m.cause})` : ""}` +
      (m.action === "edit" ? `, ${number(m.tokens)} to ${number(m.tokens_after)} tokens` : ""));
    if (session) {
      for (const [since, until] of session.stays[place]) {
        lines.push(until < 0 ? `In every window since call ${number(since + 1)}`
          : `In the windows of calls ${number(since + 1)} to ${number(until)}`);
      }
    }
    lines.push(`Turn ${m.turn}, step ${m.step - firstStep.get(m.turn) + 1}`);
    const spent = Object.entries(m.kinds).map(([kind, n]) => `${kind} ${number(n)}`);
    lines.push(`Tokens: ${spent.join(", ") || "none"}`);
    return make("p", { class: "note" }, lines.join(" · "));
  }

  function fill(item, place) {
    const body = make("div", { class: "body" }, why(messages[place], place));
    for (const [head, text] of texts[place]) {
      if (head) body.append(make("h4", {}, head));
      body.append(marked(text));
    }
    item.querySelector(".body")?.remove();
    item.append(body);
  }

  function row(place) {
    const m = messages[place];
    const badges = make("span");
    if (m.pinned) badges.append(badge("pinned", "kept"));
    if (m.pending.length) badges.append(badge("pending", "changed"));
    if (plan && m.action !== "keep") {
      badges.append(badge(`${FATES[m.action]}: ${m.cause}`, m.action === "drop" ? "gone" : "changed"));
    }
    const flat = texts[place].map((pair) => pair[1]).join(" ").slice(0, 400).replace(/\s+/g, " ");
    const label = m.tools.length ? `${m.role} · ${m.tools.join(", ")}` : m.role;
    const details = make("details", {},
      make("summary", { tabindex: "0" },
        make("span", {}, `${m.id} · turn ${m.turn}`),
        make("span", { class: "number" }, number(m.tokens)),
        make("span", { class: "preview" }, make("b", {}, label), ` ${flat}`),
        badges));
    details.addEventListener("toggle", () => { if (details.open) fill(details, place); });
    return make("li", { id: `m-${place}`, class: `is-${m.action}` }, details);
  }

  function draw() {
    const list = $("list");
    const start = page * PAGE;
    const shown = found.slice(start, start + PAGE);
    list.replaceChildren(...shown.map(row));
    const tokens = found.reduce((sum, place) => sum + messages[place].tokens, 0);
    const which = onlyWords ? ` ${onlyWords}` : "";
    $("found").textContent = `${one(found.length, "message")}${which}, ${one(tokens, "token")}`;
    $("where").textContent = found.length
      ? `${number(start + 1)} to ${number(start + shown.length)} of ${number(found.length)}` : "";
    $("previous").disabled = page === 0;
    $("next").disabled = start + PAGE >= found.length;
  }

  function turnPage(step) {
    const pages = Math.max(Math.ceil(found.length / PAGE), 1);
    page = Math.min(Math.max(page + step, 0), pages - 1);
    here = -1;
    draw();
    $("messages").scrollIntoView();
  }

  function visit(nth, open = false) {
    if (nth < 0 || nth >= found.length) return;
    const wantedPage = Math.floor(nth / PAGE);
    if (wantedPage !== page) {
      page = wantedPage;
      draw();
    }
    document.querySelector(".is-here")?.classList.remove("is-here");
    here = nth;
    const item = $(`m-${found[nth]}`);
    item.classList.add("is-here");
    if (open) item.querySelector("details").open = true;
    item.scrollIntoView({ block: "nearest" });
    item.querySelector("summary").focus({ preventScroll: true });
  }

  function showMessage(place) {
    if (!found.includes(place)) reset();
    visit(found.indexOf(place), true);
  }

  function reset() {
    for (const id of ["search", "role", "fate", "tool", "turn", "call"]) {
      if ($(id)) $(id).value = "";
    }
    $("pinned").checked = $("pending").checked = false;
    only = null;
    onlyWords = "";
    currentPrune(-1);
    filter();
  }

  function showOnly(places, text) {
    reset();
    only = new Set(places);
    onlyWords = text;
    filter();
    $("messages").scrollIntoView();
  }

  // -- prunes -----------------------------------------------------------------------------

  let prune = -1;

  function currentPrune(nth) {
    prune = nth;
    document.querySelectorAll("[data-prune]").forEach((line) =>
      line.setAttribute("aria-current", String(Number(line.dataset.prune) === nth)));
  }

  function showPrune(nth) {
    if (!session || nth < 0 || nth >= session.prunes.length) return;
    const { gone, changed } = session.prunes[nth];
    const places = gone.flatMap(([start, stop]) =>
      Array.from({ length: stop - start }, (_, i) => start + i));
    showOnly([...places, ...changed.map(([place]) => place)], `that went at prune ${nth + 1}`);
    currentPrune(nth);
  }

  // -- charts -----------------------------------------------------------------------------

  const charts = [];
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const KINDS = { system: "system text", user: "users", assistant: "assistant text",
    calls: "tool calls", results: "tool results", media: "pictures and files",
    overhead: "overhead", tools: "tool definitions" };
  const compact = (n) => (n >= 10000 ? `${Math.round(n / 1000)}k` : number(n));

  function axis(extra = {}) {
    return { axisLine: { lineStyle: { color: colour("line") } }, axisLabel: { color: colour("faint") },
      nameTextStyle: { color: colour("faint") }, splitLine: { lineStyle: { color: colour("line") } }, ...extra };
  }

  function basis(extra) {
    // Tips are drawn on the canvas: no HTML is ever made of what a message says.
    const tip = { renderMode: "richText", confine: true, backgroundColor: colour("sheet"),
      borderColor: colour("line"), textStyle: { color: colour("ink") } };
    return { animation: false, textStyle: { fontFamily: "system-ui, sans-serif", color: colour("ink") },
      grid: { left: 64, right: 72, top: 40, bottom: 48 },
      legend: { top: 0, textStyle: { color: colour("ink") }, inactiveColor: colour("line") },
      ...extra, tooltip: { ...tip, ...(extra.tooltip ?? {}) } };
  }

  function fillsOption() {
    const groups = [];
    const children = (rows) => rows.map(({ place, tokens }) => ({
      name: `#${messages[place].id}`, value: tokens, place,
      itemStyle: { color: colour("results"), borderColor: colour("paper"), borderWidth: 0.5 } }));
    for (const tool of data.by_tool) {
      const inside = children(tool.largest);
      const rest = tool.tokens - inside.reduce((sum, child) => sum + child.value, 0);
      if (rest > 0) {
        inside.push({ name: "others", value: rest, tool: tool.name,
          itemStyle: { color: colour("results"), borderColor: colour("paper"), borderWidth: 0.5 } });
      }
      groups.push({ name: tool.name, value: tool.tokens, tool: tool.name, children: inside });
    }
    const named = data.by_tool.reduce((sum, tool) => sum + tool.tokens, 0);
    const other = (data.by_kind.calls ?? 0) + (data.by_kind.results ?? 0) - named;
    if (other > 0) groups.push({ name: "other tool text", value: other });
    for (const group of groups) group.itemStyle = { color: colour("results"), borderColor: colour("results") };
    for (const kind of ["system", "user", "assistant", "media", "overhead", "tools"]) {
      if (data.by_kind[kind]) {
        groups.push({ name: KINDS[kind], value: data.by_kind[kind], itemStyle: { color: colour(kind) } });
      }
    }
    const size = (p) => `${p.name}: ${number(p.value)} tokens`;
    const within = (p) => (p.treePathInfo.length > 2 ? `${p.treePathInfo[1].name}, ` : "");
    return basis({
      legend: { show: false },
      tooltip: { formatter: (p) => within(p) + size(p) },
      series: [{ type: "treemap", name: "All", data: groups, roam: false, nodeClick: false,
        breadcrumb: { show: false }, top: 4, bottom: 4, left: 0, right: 0,
        label: { color: colour("paper"), lineHeight: 16, overflow: "truncate",
          formatter: (p) => `${p.name}\n${compact(p.value)}` },
        upperLabel: { show: true, height: 22, color: colour("paper"), overflow: "truncate",
          formatter: (p) => `${p.name}  ${compact(p.value)}` },
        itemStyle: { borderColor: colour("paper"), borderWidth: 0, gapWidth: 1 },
        levels: [{ upperLabel: { show: false }, itemStyle: { gapWidth: 3, borderWidth: 0 } },
          { itemStyle: { gapWidth: 1 } }] }] });
  }

  function turnsOption() {
    const rows = data.by_turn;
    const series = plan
      ? [["kept", rows.map((r) => r.after), colour("kept")],
        ["dropped", rows.map((r) => Math.max(r.tokens - r.after, 0)), colour("gone")]]
      : [["tokens", rows.map((r) => r.tokens), colour("assistant")]];
    const mark = (r) => (r.pinned ? "\u25c6 " : "") + (r.pending ? "\u25f7 " : "") + r.turn;
    return basis({
      tooltip: { trigger: "axis", formatter: (ps) => {
        const r = rows[ps[0].dataIndex];
        return `turn ${r.turn}: ${number(r.tokens)} tokens, ${one(r.messages, "message")}` +
          (r.pinned ? ", pinned" : "") + (r.pending ? ", pending" : "") + `\n${r.text.slice(0, 80)}`;
      } },
      xAxis: axis({ type: "category", name: "turn", data: rows.map(mark) }),
      yAxis: axis({ type: "value", name: "tokens", axisLabel: { formatter: compact, color: colour("faint") } }),
      dataZoom: rows.length > 80 ? [{ type: "inside" }] : [],
      series: series.map(([name, values, paint]) => ({ type: "bar", name, stack: "turn", data: values,
        itemStyle: { color: paint }, barCategoryGap: "10%" })) });
  }

  function timelineOption() {
    const { width, starts, kinds } = data.timeline;
    const name = (start) => messages[start].id +
      (width > 1 ? ` \u2013 ${messages[Math.min(start + width, messages.length) - 1].id}` : "");
    return basis({
      tooltip: { trigger: "axis", formatter: (ps) => `${name(starts[ps[0].dataIndex])}\n` +
        ps.filter((p) => p.value).map((p) => `${p.seriesName}: ${number(p.value)}`).join("\n") },
      xAxis: axis({ type: "category", name: "message", data: starts.map((s) => messages[s].id) }),
      yAxis: axis({ type: "value", name: "tokens", axisLabel: { formatter: compact, color: colour("faint") } }),
      series: Object.entries(kinds).map(([kind, values]) => ({ type: "bar", name: KINDS[kind],
        stack: "all", data: values, itemStyle: { color: colour(kind) }, barCategoryGap: "0%" })) });
  }

  function windowsOption() {
    const { history, window: sizes, prunes } = session;
    const { max_tokens: most, reserve } = data.budget;
    const line = (yAxis, label) => ({ yAxis, label: { formatter: label, position: "insideStartTop",
      color: colour("ink") }, lineStyle: { color: colour("gone") } });
    const lines = [line(most, "budget")];
    if (reserve) lines.push(line(most - reserve, "less the reserve"));
    return basis({
      tooltip: { trigger: "axis", formatter: (ps) => `call ${ps[0].dataIndex + 1}\n` +
        ps.map((p) => `${p.seriesName}: ${number(p.value)}`).join("\n") },
      xAxis: axis({ type: "category", name: "call", data: sizes.map((_, i) => i + 1), boundaryGap: false }),
      yAxis: axis({ type: "value", name: "tokens", axisLabel: { formatter: compact, color: colour("faint") } }),
      series: [
        { type: "line", name: "whole history", data: history, showSymbol: false, sampling: "lttb",
          lineStyle: { color: colour("faint"), type: "dashed" }, itemStyle: { color: colour("faint") } },
        { type: "line", name: "window", data: sizes, showSymbol: false, sampling: "lttb", areaStyle: { opacity: 0.25 },
          lineStyle: { color: colour("assistant") }, itemStyle: { color: colour("assistant") },
          markLine: { symbol: "none", silent: true, data: lines },
          markPoint: { symbol: "pin", symbolSize: 34, label: { color: "#fff" },
            itemStyle: { color: colour("gone") },
            data: prunes.slice(0, 200).map((p, i) => ({ name: `prune ${i + 1}`, value: i + 1, prune: i,
              coord: [p.call, sizes[p.call]] })) } }] });
  }

  function presenceOption() {
    const { calls, turns, turns_a_row: high, cells } = session.presence;
    const rowName = (t) => (high > 1 ? `${t}\u2013${t + high - 1}` : `${t}`);
    return basis({
      legend: { show: false },
      tooltip: { formatter: (p) => `turn ${rowName(turns[p.value[1]])}, call ${calls[p.value[0]] + 1}: ` +
        `${Math.round(p.value[2] * 100)} % sent` },
      xAxis: axis({ type: "category", name: "call", data: calls.map((c) => c + 1) }),
      yAxis: axis({ type: "category", name: "turn", inverse: true, data: turns.map(rowName) }),
      visualMap: { show: false, min: 0, max: 1, inRange: { color: [colour("line"), colour("assistant")] } },
      series: [{ type: "heatmap", data: cells, progressive: 0 }] });
  }

  function addChart(id, option, choose) {
    const holder = $(id);
    if (!holder) return;
    const chart = echarts.init(holder, null, { renderer: "canvas" });
    if (choose) chart.on("click", choose);
    const entry = { chart, option };
    chart.setOption(option());
    charts.push(entry);
  }

  // -- themes -----------------------------------------------------------------------------

  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");

  function paint(theme) {
    root.dataset.theme = theme;
    $("theme").textContent = theme === "dark" ? "Light" : "Dark";
    for (const { chart, option } of charts) chart.setOption(option(), true);
  }

  const otherTheme = () => paint(root.dataset.theme === "dark" ? "light" : "dark");

  // -- what people do -----------------------------------------------------------------------

  const choices = (id, values) => $(id).append(...values.map((value) => make("option", { value }, value)));
  choices("role", [...new Set(messages.map((m) => m.role))]);
  choices("tool", data.by_tool.map((tool) => tool.name));
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(filter, 120);
  });
  for (const id of ["role", "fate", "tool", "turn", "call", "pinned", "pending"]) {
    $(id)?.addEventListener("change", filter);
  }
  $("reset").addEventListener("click", reset);
  $("previous").addEventListener("click", () => turnPage(-1));
  $("next").addEventListener("click", () => turnPage(1));
  $("theme").addEventListener("click", otherTheme);
  $("help").addEventListener("click", () => $("keys").showModal());
  $("close").addEventListener("click", () => $("keys").close());
  document.addEventListener("click", (event) => {
    const { tool, gone, action, cause } = event.target.dataset ?? {};
    if (tool !== undefined) {
      reset();
      $("tool").value = tool;
      filter();
      $("messages").scrollIntoView();
    }
    if (gone !== undefined) showPrune(Number(gone));
    if (action !== undefined) {
      showOnly(messages.flatMap((m, place) => (m.action === action && m.cause === cause ? [place] : [])),
        `${FATES[action]} (${cause})`);
    }
  });

  const keys = {
    "/": () => search.focus(),
    j: () => visit(here < 0 ? page * PAGE : here + 1),
    k: () => visit(here < 0 ? page * PAGE : here - 1),
    o: () => {
      const open = here < 0 ? null : $(`m-${found[here]}`)?.querySelector("details");
      if (open) open.open = !open.open;
    },
    "]": () => turnPage(1),
    "[": () => turnPage(-1),
    p: () => showPrune(prune + 1),
    P: () => showPrune(Math.max(prune - 1, 0)),
    t: otherTheme,
    "?": () => $("keys").showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
    if (event.key === "Escape") {
      document.activeElement.blur();
      reset();
      return;
    }
    if (event.target.matches("input, select")) return;
    const act = keys[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  });

  function follow() {
    const target = /^#m-(\d+)$/.exec(location.hash);
    if (target && Number(target[1]) < messages.length) showMessage(Number(target[1]));
  }
  addEventListener("hashchange", follow);
  // Two links to the same message: the second changes no address.
  document.addEventListener("click", (event) => {
    if (event.target.matches?.('a[href^="#m-"]') && event.target.hash === location.hash) follow();
  });

  root.dataset.theme = prefersDark.matches ? "dark" : "light";
  $("theme").textContent = prefersDark.matches ? "Light" : "Dark";
  prefersDark.addEventListener("change", (event) => paint(event.matches ? "dark" : "light"));
  filter();
  follow();
  root.dataset.ready = "messages";

  const script = document.createElement("script");
  script.textContent = await inflate("charts");
  document.head.append(script);
  addChart("chart-fills", fillsOption, ({ data: node }) => {
    if (node?.place !== undefined) showMessage(node.place);
    else if (node?.tool !== undefined) {
      reset();
      $("tool").value = node.tool;
      filter();
      $("messages").scrollIntoView();
    }
  });
  addChart("chart-turns", turnsOption, ({ dataIndex }) => {
    reset();
    $("turn").value = data.by_turn[dataIndex].turn;
    filter();
    $("messages").scrollIntoView();
  });
  if (messages.length) addChart("chart-timeline", timelineOption, ({ dataIndex }) => showMessage(data.timeline.starts[dataIndex]));
  if (session) {
    addChart("chart-windows", windowsOption);
    const { chart } = charts.at(-1);
    let chosen = false; // a prune's pin, rather than the call it stands at
    chart.on("click", ({ data: point }) => {
      chosen = point?.prune !== undefined;
      if (chosen) showPrune(point.prune);
    });
    chart.getZr().on("click", ({ offsetX, offsetY }) => {
      if (!chosen && chart.containPixel("grid", [offsetX, offsetY])) {
        const [call] = chart.convertFromPixel({ seriesIndex: 0 }, [offsetX, offsetY]);
        reset();
        $("call").value = Math.round(call) + 1;
        filter();
        $("messages").scrollIntoView();
      }
      chosen = false;
    });
    addChart("chart-presence", presenceOption);
  }
  addEventListener("resize", () => charts.forEach(({ chart }) => chart.resize()));
  let before = "light";
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    paint("light");
    charts.forEach(({ chart }) => chart.resize());
  });
  addEventListener("afterprint", () => paint(before));
  root.dataset.ready = "charts";
  root.dataset.opened = String(Math.round(performance.now() - started));
})();
