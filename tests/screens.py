"""What a browser is asked of a page by any author."""

#: The smallest contrast of a text with the page behind it, as WCAG counts it.
CONTRAST = """
const light = colour => { const c = colour.match(/[0-9.]+/g).slice(0, 3).map(Number).map(v =>
    v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
const behind = one => { for (let at = one; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (!/, 0\\)$/.test(colour)) return colour; } return 'rgb(255, 255, 255)'; };
let worst = 99;
for (const one of document.querySelectorAll('body *')) {
    if (![...one.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    const style = getComputedStyle(one);
    if (one.offsetParent === null) continue; // not shown
    if (one.closest('svg') && one.tagName !== 'text') continue;
    const [a, b] = [light(one.tagName === 'text' ? style.fill : style.color), light(behind(one))];
    worst = Math.min(worst, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
}
return worst;
"""
