import { $, act, drive, same, texts, until, write } from "./drive.js";

drive(async () => {
  await until("the page is there", () => $("#empty")?.offsetHeight);
  write("Hello");
  await until("it is queued", () => texts(".owner .meta")[0]?.includes("Queued"));
  await act("run", "Good day");
  await until("the answer is there", () => texts("#log .agent .body")[0] === "Good day");
  same("nothing runs", $("#live").childElementCount, 0);
});
