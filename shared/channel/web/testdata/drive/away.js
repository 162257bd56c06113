import { $, $$, act, drive, same, texts, until, write } from "./drive.js";

drive(async () => {
  await until("the page is there", () => $("#empty")?.offsetHeight);
  await act("break");
  write("Kept");
  await until("it waits", () => texts(".owner .meta")[0]?.includes("Not sent yet"));
  same("it is stored here", Object.keys(localStorage).length, 1);
  await act("mend");
  $$(".owner button").find((b) => b.innerText === "Retry now").click();
  await until("it is queued", () => texts(".owner .meta")[0]?.includes("Queued"));
  same("once", $$(".owner").length, 1);
  same("nothing is stored here", Object.keys(localStorage), []);

  await act("break");
  await act("drop");
  await until("the loss shows", () => $("#link.shown"));
  await act("mend");
  $("#link button").click();
  await until("the loss is over", () => !$("#link.shown"));
  same("nothing is gone", texts(".owner .body"), ["Kept"]);
});
