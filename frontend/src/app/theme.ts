import { createTheme, type MantineColorsTuple } from "@mantine/core";

const teal: MantineColorsTuple = [
  "#e6f4f8", "#cfe6ee", "#9fcedd", "#6cb5cb", "#45a0bc", "#2b92b2", "#147a99", "#0b6a86", "#0b5f78", "#084a5e",
];

export const theme = createTheme({
  primaryColor: "teal",
  primaryShade: { light: 8, dark: 5 },
  autoContrast: true,
  colors: { teal },
  fontFamily: "var(--font)",
  fontFamilyMonospace: "var(--mono)",
  defaultRadius: 7,
  fontSizes: { xs: "12px", sm: "13px", md: "14px", lg: "16px", xl: "18px" },
  components: { Button: { defaultProps: { size: "xs" } }, TextInput: { defaultProps: { size: "xs" } }, NativeSelect: { defaultProps: { size: "xs" } } },
});
