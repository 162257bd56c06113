import { $, $$, act, click, drive, posts, same, texts, until, write } from "./drive.js";

const cancels = posts("/api/cancel");
const states = () => texts(".owner .meta").map((m) => /Queued|Cancelled|Cancelling/.exec(m)?.[0] ?? "");

drive(async () => {
  await until("the page is there", () => $("#empty")?.offsetHeight);
  write("First");
  write("Second");
  await until("both are queued", () => states().join() === "Queued,Queued");
  const [, second] = $$(".owner button");
  same("label", second.ariaLabel, "Cancel this message");
  second.focus();
  second.click();
  await until("it is cancelled", () => states().join() === "Queued,Cancelled");
  same("one button is left", $$(".owner button").length, 1);
  same("the focus is not lost", document.activeElement.id, "text");

  const cancel = $(".owner button"), run = act("run", "More words. ".repeat(100));
  await until("it runs", () => $("#live .message"));
  same("what runs has none", $$(".owner button").length, 0);
  cancel.click(); // pressed a moment too late
  await until("it is told so", () => $("#told").textContent === "It runs already.");
  await run;
  await until("the answer is there", () => $("#log .agent"));

  await act("break");
  write("Third");
  await until("it waits", () => texts(".owner .meta")[2]?.includes("Not sent yet"));
  same("what was said before is gone", $("#told").textContent, "");
  await act("mend");
  click("Retry now");
  await until("it is queued", () => states()[2] === "Queued");
  cancels.length = 0;
  await act("break");
  click("Cancel");
  await until("it is tried again", () => cancels.length === 2 && states()[2] === "Cancelling");
  same("the same", cancels[1], cancels[0]);
  await act("mend");
  await until("it is cancelled", () => states()[2] === "Cancelled");
});
