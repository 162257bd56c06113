import { $, act, click, drive, escape, posts, same, texts, until, write } from "./drive.js";

const words = "More words. ".repeat(400);
const stops = posts("/api/stop");

drive(async () => {
  await until("the page is there", () => $("#empty")?.offsetHeight);
  same("nothing to stop", $("#stop").hidden, true);
  escape();
  same("Esc does nothing then", stops.length, 0);

  write("First");
  await until("it is queued", () => texts(".owner .meta")[0]?.includes("Queued"));
  write("Second");
  await until("both are", () => texts(".owner .meta").filter((m) => m.includes("Queued")).length === 2);
  same("Stop is offered", [$("#stop").hidden, $("#stop").ariaLabel], [false, "Stop"]);
  let run = act("run", words);
  await until("the reply streams", () => $("#live .body")?.textContent.includes("More words."));
  $("#stop").focus();
  $("#stop").click();
  $("#stop").click();
  await until("both are stopped", () => texts(".owner .meta").filter((m) => m.includes("Cancelled")).length === 2);
  await until("nothing is left to stop", () => $("#stop").hidden && !$("#live .message") && !$("#said").textContent);
  same("once", stops.length, 1);
  same("pressed just now", stops[0].ago_ms < 5000, true);
  same("the focus is not lost", document.activeElement.id, "text");
  await run;

  write("Third");
  await until("it is queued", () => texts(".owner .meta")[2]?.includes("Queued"));
  escape({ isComposing: true });
  same("Esc that belongs to the keyboard", stops.length, 1);
  escape();
  await until("Esc stops", () => texts(".owner .meta")[2]?.includes("Cancelled"));

  write("Fourth");
  await until("it is queued", () => texts(".owner .meta")[3]?.includes("Queued"));
  stops.length = 0;
  await act("break");
  $("#stop").click();
  await until("it is tried again", () => stops.length === 2);
  same("under the same ID", stops[1].id, stops[0].id);
  same("it says that it is under way", $("#stop").ariaLabel, "Stopping");
  await act("mend");
  write("Fifth"); // what is written later is not meant, however late the Stop arrives
  await until("the Stop arrives", () => $("#stop").ariaLabel === "Stop");
  const last = stops.at(-1);
  same("as old as it is", last.ago_ms > 900, true);
  await until("it stopped what was there and no more", () =>
    texts(".owner .meta")[3]?.includes("Cancelled") && texts(".owner .meta")[4]?.includes("Queued"));
  click("Cancel");
  await until("nothing is left", () => $("#stop").hidden);
});
