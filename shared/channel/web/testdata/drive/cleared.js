import { $, act, click, drive, same, texts, type, until, write } from "./drive.js";

const said = () => $("#told").textContent.includes("cleared");

drive(async () => {
  await until("the page is there", () => $("#empty")?.offsetHeight);
  await act("say", "Old");
  await until("it is told", () => texts(".agent .body")[0] === "Old");
  await act("clear", "new");
  write("Too late");
  await until("it is refused", said);
  same("it is back in the composer", $("#text").value, "Too late");
  await until("the new thread is shown", () => !$(".agent"));
  await act("clear", "newer");
  write($("#text").value);
  type("Newer");
  await until("it is refused again", () => texts(".owner .bad")[0]?.includes("cleared"));
  await new Promise((done) => setTimeout(done, 300)); // the page learns of the thread that is
  click("Send again");
  await until("it is queued", () => texts(".owner .meta")[0]?.includes("Queued"));
  same("once", texts(".owner .body"), ["Too late"]);
});
