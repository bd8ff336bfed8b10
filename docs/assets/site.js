import { drawBoards } from "./board.js";

drawBoards();
// Material's styles are for tables without a class.
for (const table of document.querySelectorAll(".board table")) table.className = "board-table";
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
