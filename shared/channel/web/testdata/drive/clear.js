import { $, $$, act, click, drive, escape, posts, same, texts, type, until, write } from "./drive.js";

const clears = posts("/api/clear"), stops = posts("/api/stop");

function open() {
  $("#more").click();
  same("the menu is open", $("#menu").matches(":popover-open"), true);
  click("Clear conversation…");
  same("the menu is closed", $("#menu").matches(":popover-open"), false);
  same("it asks first", $("#clearing").open, true);
}

drive(async () => {
  await until("the page is there", () => $("#empty")?.offsetHeight);
  await act("say", "Old");
  write("Older");
  await until("both are there", () => texts(".message .meta").length === 2 && texts(".owner .meta")[0]?.includes("Queued"));
  type("A draft");

  open();
  same("the harmless button has the focus", document.activeElement.innerText, "Keep it");
  escape();
  same("Esc stops nothing then", stops.length, 0);
  click("Keep it");
  await until("it is closed", () => !$("#clearing").open);
  same("nothing is cleared", [clears.length, $$(".message").length], [0, 2]);

  await act("busy");
  open();
  click("Clear");
  await until("the refusal is told", () => $("#told").textContent.startsWith("Still working"));
  same("all is there", $$(".message").length, 2);
  await act("free");

  clears.length = 0;
  await act("break");
  open();
  click("Clear");
  await until("it is tried again", () => clears.length === 2);
  same("the same", clears[1], clears[0]);
  await act("mend");
  await until("the new thread is shown", () => !$(".message") && $("#empty").offsetHeight);
  same("nothing is told", $("#told").textContent, "");
  same("the draft is kept", $("#text").value, "A draft");
  write("New");
  await until("it is taken", () => texts(".owner .meta")[0]?.includes("Queued"));
});
