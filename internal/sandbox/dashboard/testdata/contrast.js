// What is too faint to be read by WCAG 2 AA: every text that is shown, and the borders
// and texts of fields.
(() => {
  const parse = (color) => {
    const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const over = (top, under) => ({
    r: top.r * top.a + under.r * (1 - top.a),
    g: top.g * top.a + under.g * (1 - top.a),
    b: top.b * top.a + under.b * (1 - top.a),
    a: 1,
  });
  const ground = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    return layers.reduceRight((under, top) => over(top, under), { r: 255, g: 255, b: 255, a: 1 });
  };
  const luminance = ({ r, g, b }) =>
    [r, g, b]
      .map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (color, under) => {
    const [low, high] = [luminance(over(parse(color), under)), luminance(under)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode.data.trim();
    const element = texts.currentNode.parentElement;
    if (!text || !element.checkVisibility() || element.closest('svg title, svg desc, .unseen, script')) continue;
    const style = getComputedStyle(element);
    const ratio = contrast(element.closest('svg') ? style.fill : style.color, ground(element));
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`${text} has ${ratio.toFixed(2)}`);
  }
  for (const field of document.querySelectorAll('input:not([type=hidden]), select')) {
    if (!field.checkVisibility()) continue;
    const style = getComputedStyle(field);
    // The border stands on the field, and is told from what is around it.
    const [border, around] = [over(parse(style.borderTopColor), ground(field)), ground(field.parentElement)];
    if (contrast(`rgb(${border.r} ${border.g} ${border.b})`, around) < 3) found.push(`the border of ${field.name}`);
    if (contrast(style.color, ground(field)) < 4.5) found.push(`the text of ${field.name}`);
  }
  return found;
})()
