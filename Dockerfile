# bakeoff itself: docker build -t bakeoff . && docker run --rm -v "$PWD:/work" bakeoff run
FROM python:3.12-slim
COPY pyproject.toml README.md LICENSE /src/
COPY src /src/src
RUN pip install --no-cache-dir '/src[demo]' && rm -rf /src
ENV BAKEOFF_HOME=/cache
VOLUME /cache
WORKDIR /work
ENTRYPOINT ["bakeoff"]
CMD ["--help"]
