import { drawBoards } from "./board.js";

drawBoards();
