import { $, $$, act, click, drive, posts, same, texts, until, write } from "./drive.js";

const answers = posts("/api/answer");
const last = () => texts("#log .agent .body").at(-1);

drive(async () => {
  await until("the page is there", () => $("#empty")?.offsetHeight);
  await act("question", "Which colour?");
  await until("the question waits", () => texts(".agent .meta")[0]?.includes("Waiting for your answer"));
  same("it has no buttons", $$(".choice").length, 0);
  await act("expire");
  await act("payment", "Pay?");
  await until("the payment waits, and the question no more", () => texts(".wanted").join() === "Waiting for your approval");

  await act("confirmation", "Send it?");
  await until("it asks", () => $(".choice"));
  same("under the message", $(".choice").parentNode.querySelector(".body").textContent, "Send it?");
  same("as a group with a name", [$(".choice").role, $(".choice").ariaLabel, ...texts(".choice button")], ["group", "Send it?", "Yes", "No"]);
  $(".choice button").focus();
  click("Yes");
  await until("yes is said", () => last() === "You said yes.");
  await until("it asks no more", () => !$(".choice") && $$(".wanted").length === 1);
  same("the focus is not lost", document.activeElement.id, "text");

  await act("confirmation", "Delete it?");
  await until("it asks", () => $(".choice"));
  answers.length = 0;
  await act("break");
  click("No");
  await until("it is tried again", () => answers.length === 2 && texts(".wanted").includes("Answering…"));
  same("the same", answers[1], answers[0]);
  await act("mend");
  await until("no is said", () => last() === "You said no.");

  await act("confirmation", "Print it?");
  await until("it asks", () => $(".choice"));
  await act("expire");
  click("Yes");
  await until("it is told", () => $("#told").textContent === "This is not open any more.");
  await until("it asks no more", () => !$(".choice") && !$(".wanted"));
  write("Well then");
  same("what was said is gone", $("#told").textContent, "");
});
