/**
 * Makes PNG from SVG with resvg, without a browser. The library is optional: where it is not installed there are only SVG files,
 * and the caller is told why. Text needs a font on the machine; `fontsFound` says whether there is one.
 */
import { existsSync } from 'node:fs';

export interface PngWriter {
  render(svg: string): Uint8Array;
}

/** Loads the library; returns the reason when it cannot be loaded. */
export async function openPngWriter(): Promise<PngWriter | { readonly missing: string }> {
  let resvg: typeof import('@resvg/resvg-js');
  try {
    resvg = await import('@resvg/resvg-js');
  } catch (error) {
    return { missing: `@resvg/resvg-js cannot be loaded: ${error instanceof Error ? error.message : String(error)}` };
  }
  const font = { loadSystemFonts: true, defaultFontFamily: 'DejaVu Sans' };
  return {
    render: (svg) =>
      new resvg.Resvg(svg, { fitTo: { mode: 'zoom', value: 2 }, font, background: '#ffffff' }).render().asPng(),
  };
}

const fontFolders = ['/usr/share/fonts', '/usr/local/share/fonts', '/System/Library/Fonts', 'C:\\Windows\\Fonts'];

/** Whether the machine has fonts. Without any, the PNG has no text, but the SVG has. */
export function fontsFound(): boolean {
  return fontFolders.some((folder) => existsSync(folder));
}
