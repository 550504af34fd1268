
(function () {
  "use strict";
  var form = document.getElementById("filter");
  var findings = Array.from(document.querySelectorAll(".finding"));
  var texts = findings.map(function (f) {
    return (f.closest(".file").firstChild.textContent + " " + f.textContent).toLowerCase();
  });
  function matches(f, i, text, rule, severities) {
    if (rule) {
      if (f.dataset.rule !== rule) { return false; }
    }
    if (!severities.includes(f.dataset.severity)) { return false; }
    return texts[i].includes(text);
  }
  function apply() {
    var text = form.elements.text.value.trim().toLowerCase();
    var rule = form.elements.rule.value;
    var severities = Array.from(form.querySelectorAll("[name=severity]:checked")).map(function (box) { return box.value; });
    var shown = 0;
    findings.forEach(function (f, i) {
      var ok = matches(f, i, text, rule, severities);
      f.classList.toggle("hidden", !ok);
      if (ok) { shown++; }
    });
    document.querySelectorAll(".group").forEach(function (g) {
      g.classList.toggle("hidden", !g.querySelector(".finding:not(.hidden)"));
    });
    form.elements.shown.value = shown + " of " + findings.length + " shown";
  }
  function open() {
    var target = document.getElementById(location.hash.slice(1));
    if (target) {
      if (target.matches("details")) { target.open = true; }
      if (target.matches(".finding.hidden")) { // a link wins over the filter
        form.reset();
        apply();
        target.scrollIntoView();
      }
    }
  }
  if (form) {
    form.hidden = false;
    form.addEventListener("input", apply);
    form.addEventListener("submit", function (e) { e.preventDefault(); });
    apply();
  }
  window.addEventListener("hashchange", open);
  open();
})();
