import { createTheme, type MantineColorsTuple } from "@mantine/core";

const teal: MantineColorsTuple = [
  "#e6f4f8", "#cfe6ee", "#9fcedd", "#6cb5cb", "#45a0bc", "#2b92b2", "#147a99", "#0b6a86", "#0b5f78", "#084a5e",
];

/** Mantine's own dark surfaces, in the tint of ours. */
const dark: MantineColorsTuple = [
  "#e4eaef", "#c3ccd4", "#94a3b0", "#6f7e8b", "#3c4852", "#2c3741", "#1b242b", "#161d23", "#10161b", "#0b1014",
];

export const theme = createTheme({
  primaryColor: "teal",
  primaryShade: { light: 8, dark: 7 },
  autoContrast: true,
  colors: { teal, dark },
  fontFamily: "var(--font)",
  fontFamilyMonospace: "var(--mono)",
  defaultRadius: 7,
  fontSizes: { xs: "12px", sm: "13px", md: "14px", lg: "16px", xl: "18px" },
  components: { Button: { defaultProps: { size: "xs" } }, TextInput: { defaultProps: { size: "xs" } }, NativeSelect: { defaultProps: { size: "xs" } } },
});
