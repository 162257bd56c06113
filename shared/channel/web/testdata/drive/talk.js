import { $, act, drive, press, same, texts, type, until, write } from "./drive.js";

const atEnd = () => { const t = $("#talk"); return t.scrollHeight - t.scrollTop - t.clientHeight < 2; };

drive(async () => {
  await until("the page invites", () => $("#empty")?.offsetHeight);
  same("model", $("#model").textContent, "scripted:echo");
  same("note", $("#note").innerText, "Set BOBBIN_MODEL.");
  same("focus", document.activeElement.id, "text");
  same("send is off", $("#send").disabled, true);

  type("kept");
  same("draft", localStorage.getItem("bobbin.draft"), "kept");
  press("Enter", { shiftKey: true });
  press("Enter", { isComposing: true });
  same("still in the composer", $("#text").value, "kept");

  write("First <b>");
  await until("it stands there", () => texts(".owner .body")[0] === "First <b>");
  same("composer", [$("#text").value, localStorage.getItem("bobbin.draft")], ["", null]);
  write("Second");
  await until("both are queued", () => texts(".owner .meta").filter((m) => m.includes("Queued")).length === 2);
  same("nothing is unsent", Object.keys(localStorage), []);

  const words = "Here is **bold** and <img src=x onerror=alert(1)>. " + "More words. ".repeat(60);
  const run = act("run", words);
  await until("the reply streams", () => $("#live .body")?.textContent.includes("More words."));
  same("it says so", $("#said").textContent, "Bobbin is working.");
  same("owner can go on", $("#text").disabled, false);
  await run;
  await until("the reply is stored", () => $("#log .agent") && !$("#live .message"));
  same("bold", $("#log .agent strong").textContent, "bold");
  same("pictures", document.querySelectorAll("#log img").length, 0);
  same("order", texts("#log .unseen").map((s) => s.trim()), ["You:", "You:", "Bobbin:"]);
  same("at the end", atEnd(), true);

  for (const n of [1, 2, 3]) await act("say", `From the phone ${n}\n\n`.padEnd(2000, "x "));
  await until("it is marked", () => texts(".badge")[2] === "Telegram");
  same("at the end", atEnd(), true);
  $("#talk").scrollTop = 0;
  await new Promise((done) => setTimeout(done, 100));
  await act("say", "One more");
  await until("the button offers", () => !$("#latest").hidden);
  same("stayed", $("#talk").scrollTop, 0);
  $("#latest").click();
  await until("the end again", atEnd);
});
