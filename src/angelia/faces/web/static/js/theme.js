// Dark or light: the system's, unless the person chose one.
const THEME = "angelia.theme";
const root = document.documentElement;

const chosen = localStorage.getItem(THEME);
if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;

export function otherTheme() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem(THEME, root.dataset.theme);
}
