import { $, act, drive, same, texts, until, write } from "./drive.js";

function hide(hidden) {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}

const streams = () => performance.getEntriesByType("resource").filter((e) => e.name.endsWith("/api/events")).length;

drive(async () => {
  await until("the page is there", () => $("#empty")?.offsetHeight);
  write("Hello");
  await until("it is queued", () => texts(".owner .meta")[0]?.includes("Queued"));
  hide(true);
  await until("the stream is let go", () => streams() === 1);
  await act("run", "Done meanwhile");
  await until("the title tells", () => document.title === "(1) Bobbin");
  hide(false);
  await until("the title is plain again", () => document.title === "Bobbin");
  act("say", "Now in view");
  await until("the stream is back", () => texts(".agent .body").includes("Now in view"));
  same("title", document.title, "Bobbin");
});
