import "@mantine/core/styles/baseline.css";
import "@mantine/core/styles/default-css-variables.css";
import "@mantine/core/styles/global.css";
import "@mantine/core/styles/UnstyledButton.css";
import "@mantine/core/styles/Loader.css";
import "@mantine/core/styles/Button.css";
import "@mantine/core/styles/ActionIcon.css";
import "@mantine/core/styles/Input.css";
import "@mantine/core/styles/PasswordInput.css";
import "@mantine/core/styles/InlineInput.css";
import "@mantine/core/styles/Checkbox.css";
import "@mantine/core/styles/FloatingIndicator.css";
import "@mantine/core/styles/SegmentedControl.css";
import "./styles/tokens.css";
import "./styles/parts.css";
import "./styles/shell.css";
import "./styles/overview.css";
import "./styles/job.css";
import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { Boundary } from "./app/Boundary";
import { PAGES } from "./app/pages";
import { placeOf } from "./app/place";
import { theme } from "./app/theme";
import { wireToCache } from "./live/hooks";
import { styleNonce } from "./ui/nonce";

// While it is asked who is signed in, the code of the page that the address names comes along. Should it fail, the visit asks again.
placeOf(PAGES, location.pathname)?.page.page.load?.().catch(() => undefined);

const client = new QueryClient();
wireToCache(client);

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={styleNonce}>
        <QueryClientProvider client={client}>
          <Boundary>
            <App />
          </Boundary>
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
}
