import { $, $$, act, drive, same, until } from "./drive.js";

drive(async () => {
  await until("the page is there", () => $("#empty")?.offsetHeight);
  await act("older", "Long ago");
  await until("the last is there", () => $$(".owner").length >= 120 || !$("#earlier").hidden);
  await act("say", "Today");
  await until("days are told apart", () => $$(".day").length === 2);
  for (let before; !$("#earlier").hidden; before = $$(".message").length) {
    const first = $(".message"), top = first.getBoundingClientRect().top;
    $("#talk").scrollTop = 0;
    await new Promise((done) => setTimeout(done, 50));
    const offset = first.getBoundingClientRect().top;
    $("#earlier").click();
    await until("more is there", () => $$(".message").length > (before ?? 50));
    same("what was in view stays", Math.abs(first.getBoundingClientRect().top - offset) < 40, true);
  }
  same("all of it, once", $$(".message").length, 121);
  same("only the conversation scrolls", document.scrollingElement.scrollHeight <= innerHeight, true);
});
