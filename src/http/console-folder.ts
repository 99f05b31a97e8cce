/** The folder of the built console, seen from the root of the project or of an installation. */
export const CONSOLE_FOLDER = 'dist/console'
