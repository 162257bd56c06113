import { $, drive, same, until } from "./drive.js";

function enter(code) {
  $("#code").value = code;
  $("#pair").requestSubmit();
}

// The page loads anew once it is paired, so this runs twice.
if (sessionStorage.getItem("paired")) {
  drive(async () => {
    await until("the conversation is there", () => $("#empty")?.offsetHeight);
    same("no pairing", $("#pairing").hidden, true);
    same("the key is out of reach", document.cookie, "");
  });
} else {
  await until("it asks for the code", () => $("#pairing").offsetHeight);
  enter("wrong");
  await until("it says so", () => $("#pair-error").textContent);
  if ($("#pair-error").textContent === "This code is wrong, or was used before." && $("#talk").hidden) {
    sessionStorage.setItem("paired", "1");
    enter("spool-42");
  } else {
    drive(() => same("refusal", $("#pair-error").textContent, "This code is wrong, or was used before."));
  }
}
