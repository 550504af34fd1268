
(function () {
  "use strict";
  // No character of markup stands in here: \x3c is one that begins a tag.
  var size = 50, form = document.getElementById("filter"), list = document.getElementById("findings");
  var all = [], found = [], page = 0, byId = {}, navs = [];

  // add reads findings from what the page would look like, without making elements.
  var heads = ["", "", ""];
  function add(html) {
    var pieces = html.split("\x3c/article\x3e");
    pieces.pop();
    pieces.forEach(function (piece) {
      var at = piece.indexOf("\x3carticle "), end = piece.indexOf("\x3e", at);
      if (at !== 0) {
        heads = heads.slice();
        piece.slice(0, at).split("\x3ch").slice(1).forEach(function (h) {
          heads.fill("", +h[0] - 2)[+h[0] - 2] = "\x3ch" + h;
        });
      }
      var facts = /data-severity="(\w+)" data-rule="([^"]*)"(?: id="([^"]*)")?/.exec(piece.slice(at, end));
      if (facts[3]) { byId[facts[3]] = all.length; }
      all.push({ html: piece.slice(at) + "\x3c/article\x3e", heads: heads, severity: facts[1], rule: facts[2], text: "" });
    });
  }

  var entities = { amp: "\x26", lt: "\x3c", gt: "\x3e", quot: "\"", nbsp: "\u00a0" };
  function plain(html) {
    return html.replace(/\x3c[^\x3e]*\x3e/g, "").replace(/\x26(?:#(\d+)|(\w+));/g, function (all, number, name) {
      return number ? String.fromCodePoint(+number) : entities[name] || all;
    }).toLowerCase();
  }
  // words are what a finding is searched by, made when they are needed or nothing else is to do.
  var title = "", titled = null;
  function words(f) {
    if (f.text === "") {
      if (f.heads !== titled) {
        titled = f.heads;
        title = plain(f.heads.join(" ")) + " ";
      }
      f.text = title + plain(f.html);
    }
    return f.text;
  }
  function late(i, until) { return i % 64 === 0 ? Math.max(performance.now(), until) !== until : false; }
  function prepare(i) {
    for (var until = performance.now() + 10; i !== all.length; i++) {
      words(all[i]);
      if (late(i, until)) {
        setTimeout(prepare, 0, i + 1);
        return;
      }
    }
  }

  // apply searches in slices, so that the first findings are there at once.
  var search = null;
  function apply() {
    var severities = {};
    form.querySelectorAll("[name=severity]:checked").forEach(function (box) { severities[box.value] = true; });
    search = { at: 0, words: form.elements.text.value.trim().toLowerCase(), rule: form.elements.rule.value, severities: severities };
    found = [];
    slice(search);
  }
  function matches(f) {
    if (search.severities[f.severity] !== true) { return false; }
    if (search.rule) { if (f.rule !== search.rule) { return false; } }
    return search.words === "" || words(f).includes(search.words);
  }
  function slice(mine, whole) {
    if (mine !== search) { return; }
    var begin = found.length, first = search.at === 0;
    for (var until = performance.now() + 30; search.at !== all.length; search.at++) {
      if (whole !== true) { if (late(search.at, until)) { break; } }
      if (matches(all[search.at])) { found.push(search.at); }
    }
    if (first) { show(0); }
    else if (begin === Math.min(begin, size * (page + 1) - 1)) { show(page); }
    else { status(); }
    if (search.at !== all.length) { setTimeout(slice, 0, mine); }
  }
  // finish ends a search that is not at its end.
  function finish() { if (search.at !== all.length) { slice(search, true); } }

  // show shows a page of what was found, with the headings above it.
  function show(n) {
    page = n;
    var html = "", above = ["", "", ""];
    found.slice(n * size, (n + 1) * size).forEach(function (i) {
      var differs = false;
      all[i].heads.forEach(function (h, level) {
        if (h !== above[level]) { differs = true; }
        if (differs) { html += h; }
      });
      above = all[i].heads;
      html += all[i].html;
    });
    if (html === "") { html = search.at === all.length ? "\x3cp\x3eNo finding matches the filter.\x3c/p\x3e" : "\x3cp\x3eSearching \u2026\x3c/p\x3e"; }
    list.innerHTML = html;
    list.querySelectorAll("article").forEach(function (a) {
      a.setAttribute("aria-label", a.querySelector(".head").textContent + ": " + a.querySelector(".message").textContent);
    });
    reach(list.querySelector("article"));
    status();
  }
  function status() {
    var last = lastPage(), text = found.length + " of " + all.length + " shown";
    if (last !== 0) { text = (page * size + 1) + " to " + Math.min((page + 1) * size, found.length) + " of " + found.length; }
    if (search.at !== all.length) { text = "Searching \u2026"; }
    form.elements.shown.value = text;
    navs.forEach(function (nav) {
      nav.hidden = last === 0;
      nav.querySelector("span").textContent = "Page " + (page + 1) + " of " + (last + 1);
      nav.querySelector("[value=back]").setAttribute("aria-disabled", page === 0);
      nav.querySelector("[value=next]").setAttribute("aria-disabled", page === last);
    });
  }
  function lastPage() { return Math.max(Math.ceil(found.length / size) - 1, 0); }
  function turn(by) {
    finish();
    var to = page + by;
    if (to !== Math.max(0, Math.min(to, lastPage()))) { return false; }
    show(to);
    return true;
  }

  // reach makes a finding the one that the tab key reaches; arrows lead to the others.
  function reach(article) {
    list.querySelectorAll("article").forEach(function (a) {
      var at = a === article ? 0 : -1;
      a.tabIndex = at;
      a.querySelectorAll("a").forEach(function (link) { link.tabIndex = at; });
    });
  }
  function focus(article) {
    reach(article);
    article.focus();
    article.scrollIntoView({ block: "nearest" });
  }
  function arrow(e) {
    var here = e.target.closest("article"), articles = Array.from(list.querySelectorAll("article")), at = articles.indexOf(here);
    if (!here || e.altKey || e.ctrlKey || e.metaKey || e.shiftKey) { return; }
    var to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: articles.length - 1 }[e.key];
    if (to === undefined) { return; }
    e.preventDefault();
    if (articles[to]) { focus(articles[to]); }
    else if (turn(to === -1 ? -1 : 1)) {
      articles = list.querySelectorAll("article");
      focus(articles[to === -1 ? articles.length - 1 : 0]);
    }
  }

  // open follows the link in the address: it wins over the filter.
  function open() {
    var id = location.hash.slice(1), target = document.getElementById(id);
    if (byId[id] !== undefined) {
      if (!matches(all[byId[id]])) {
        form.reset();
        apply();
      }
      finish();
      var on = Math.floor(found.indexOf(byId[id]) / size);
      if (on !== page) { show(on); }
      target = document.getElementById(id);
      list.querySelectorAll(".target").forEach(function (a) { a.classList.remove("target"); });
      target.classList.add("target");
      reach(target);
      target.focus({ preventScroll: true });
      target.scrollIntoView();
    } else if (target) {
      if (target.matches("details")) { target.open = true; }
    }
  }

  if (form) {
    add(list.innerHTML);
    document.querySelectorAll("noscript.more").forEach(function (more) {
      add(more.textContent);
      more.remove();
    });
    var rest = document.getElementById("rest"), nav = form.querySelector(".pages");
    if (rest) { rest.remove(); }
    navs = [nav, nav.cloneNode(true)];
    navs[1].setAttribute("aria-label", "Pages, after the findings");
    list.after(navs[1]);
    navs.forEach(function (nav, end) {
      nav.addEventListener("click", function (e) {
        if (!e.target.value) { return; }
        if (turn(e.target.value === "next" ? 1 : -1)) {
          if (end) { focus(list.querySelector("article")); }
          list.scrollIntoView();
        }
      });
    });
    list.addEventListener("keydown", arrow);
    list.addEventListener("focusin", function (e) {
      var article = e.target.closest("article");
      if (article) { reach(article); }
    });
    form.hidden = false;
    form.addEventListener("input", apply);
    form.addEventListener("submit", function (e) { e.preventDefault(); });
    apply();
    setTimeout(prepare, 0, 0);
  }
  window.addEventListener("hashchange", open);
  open();
})();
