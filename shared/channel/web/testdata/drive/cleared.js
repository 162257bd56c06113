import { $, $$, act, drive, same, texts, until, write } from "./drive.js";

drive(async () => {
  await until("the page is there", () => $("#empty")?.offsetHeight);
  await act("say", "Old");
  await until("it is told", () => texts(".agent .body")[0] === "Old");
  await act("clear", "new");
  write("Too late");
  await until("it is refused", () => texts(".owner .bad")[0]?.includes("cleared"));
  await until("the new thread is shown", () => !$(".agent"));
  $$(".owner button").find((b) => b.innerText === "Edit").click();
  same("it is back in the composer", $("#text").value, "Too late");
  await act("clear", "newer");
  write($("#text").value);
  await until("it is refused again", () => texts(".owner .bad")[0]?.includes("cleared"));
  await new Promise((done) => setTimeout(done, 300)); // the page learns of the thread that is
  $$(".owner button").find((b) => b.innerText === "Send again").click();
  await until("it is queued", () => texts(".owner .meta")[0]?.includes("Queued"));
  same("once", texts(".owner .body"), ["Too late"]);
});
