// What scrolls can be reached with the keyboard, and the search has a name.
function reachable() {
  document.querySelectorAll("pre > code, .md-typeset__scrollwrap, .md-typeset__table, .md-search__scrollwrap").forEach(e => e.tabIndex = 0)
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search")
}
reachable()
addEventListener("load", reachable) // the theme wraps wide tables first
