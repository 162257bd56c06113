import { $, act, click, drive, same, texts, type, until, write } from "./drive.js";

const say = "Still working on your previous message — please wait.";

drive(async () => {
  await until("the page is there", () => $("#empty")?.offsetHeight);
  await act("busy");
  write("Kept");
  await until("it is told", () => $("#told").textContent === say);
  same("the composer keeps the text", [$("#text").value, $("#send").disabled], ["Kept", false]);
  same("it is the draft", localStorage.getItem("bobbin.draft"), "Kept");
  await until("it stands nowhere else", () => texts(".owner .body").length === 0);

  write("Kept");
  type("Newer");
  await until("beside a newer text it stands in the conversation", () => texts(".owner .bad")[0] === say);
  same("the newer text is left alone", $("#text").value, "Newer");
  click("Edit");
  same("both", $("#text").value, "Kept\nNewer");
  await act("free");
  write("Kept");
  same("the refusal is gone", $("#told").textContent, "");
  await until("it is queued", () => texts(".owner .meta")[0]?.includes("Queued"));

  write("/reset");
  await until("a command is told", () => $("#told").textContent === "I begin anew.");
  await until("it is no message", () => texts(".owner .body").join() === "Kept");
});
