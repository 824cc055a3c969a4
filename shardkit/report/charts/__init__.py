"""Charts as inline SVG: drawn by matplotlib, coloured by the page.

| module | draws |
|---|---|
| `svg` | a matplotlib figure as SVG without ids, styles and colours of its own |
| `bars` | horizontal bars with names and numbers: classes, values of masks |
| `distributions` | histograms: aspect ratios, bytes, counts, numbers |
| `maps` | two-dimensional histograms: image sizes, places of boxes |

Texts are texts, so that they can be selected, searched and read aloud. A strict content security policy refuses style
attributes, and a page with light and dark colours needs variables: colours become classes, which the page's style
defines. Charts are drawn 360 units wide, so that they can be read on a phone without zooming.
"""
